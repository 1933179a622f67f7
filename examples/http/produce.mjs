// A producer without a gateway: a send is one command of Redis. Node's own library only.
//
//	node produce.mjs orders 500 "order 4711"        topics with priorities: how urgent
//	node produce.mjs prices 10m "price of 4711"     range-merge and fixed-time: in how long
//
// It speaks to Redis at REDIS (127.0.0.1:6379), and needs a topic that is defined: a Go program, rmq send or the
// gateway does that. Topics that are literal and merge, and those with notes, need a script: send to them by the
// gateway. docs/PROTOCOL.md, "Sends", is what it follows; vectors.json is what it is tested with.
import { connect } from 'node:net'
import { pathToFileURL } from 'node:url'

const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1
  return n
})

/** The slot of a content, or of another text that you give for it: its CRC-32 modulo the slots. */
export function slot(basis, slots) {
  let crc = ~0
  for (const byte of Buffer.from(basis)) crc = table[(crc ^ byte) & 0xff] ^ (crc >>> 8)
  return (~crc >>> 0) % slots
}

/** What sends a message: value is a priority, or in how many ms it is due; now is the time of Redis in ms. */
export function commands(topic, slots, kind, content, value, now, basis = content) {
  const n = slot(basis, slots)
  const timed = kind !== 'priority'
  const add = ['ZADD', `${topic}_${n}`, timed ? now + value : value, content]
  if (kind === 'range-merge') add.splice(2, 0, 'NX') // the first time stays
  return [add, ['PUBLISH', `rmq:wake{${topic}}`, `${n}:${timed ? value : 0}`]] // so that a worker looks at once
}

/** Just enough of the protocol of Redis. */
class Redis {
  constructor(address) {
    const [, host, port] = address.match(/^(.*):(\d+)$/)
    this.socket = connect(Number(port), host)
    this.bytes = this.socket[Symbol.asyncIterator]()
    this.rest = Buffer.alloc(0)
  }

  call(...words) {
    this.socket.write(`*${words.length}\r\n` + words.map((w) => `$${Buffer.byteLength(String(w))}\r\n${w}\r\n`).join(''))
    return this.answer()
  }

  async answer() {
    const line = await this.read(() => this.rest.indexOf('\r\n') + 2, 1)
    const [kind, rest] = [line[0], line.slice(1, -2)]
    if (kind === '-') throw new Error(rest)
    if (kind === ':') return Number(rest)
    if (kind === '$') return rest === '-1' ? null : (await this.read(() => Number(rest) + 2, Number(rest) + 2)).slice(0, -2)
    if (kind !== '*') return rest
    const all = []
    for (let n = Number(rest); n > 0; n--) all.push(await this.answer())
    return all
  }

  /** Reads as much as length says, which may not be known before some has come. */
  async read(length, least) {
    while (this.rest.length < least || length() < 2 || this.rest.length < length()) {
      const { value, done } = await this.bytes.next()
      if (done) throw new Error('Redis has closed the connection')
      this.rest = Buffer.concat([this.rest, value])
    }
    const n = length()
    const text = this.rest.toString('utf8', 0, n)
    this.rest = this.rest.subarray(n)
    return text
  }
}

function refuse(why) {
  console.error(why)
  process.exit(1)
}

async function main(topic, given, content) {
  if (content === undefined) refuse('node produce.mjs TOPIC PRIORITY-OR-TIME CONTENT')
  const redis = new Redis(process.env.REDIS ?? '127.0.0.1:6379')
  const [kind, slots, literal, notes, layout] = await redis.call('HMGET', `rmq:def{${topic}}`, 'kind', 'slots', 'literal', 'notes', 'layout')
  if (kind === null) refuse(`there is no topic ${topic}: define it by rmq send ${topic} ${content} --kind …`)
  if (layout !== '1' || notes === '1' || (literal === '1' && kind === 'range-merge')) refuse(`topic ${topic} needs a script for each send: use the gateway`)
  const value = kind === 'priority' ? Number(given) : Math.trunc(parseFloat(given) * units[given.at(-1)])
  if (kind === 'priority' && !(value >= 17 && value < 2 ** 53)) refuse('the priority must be 17 to 9007199254740991')
  const [seconds, micros] = await redis.call('TIME')
  const now = Number(seconds) * 1000 + Math.trunc(Number(micros) / 1000)
  const [add, wake] = commands(topic, Number(slots), kind, content, value, now)
  console.log((await redis.call(...add)) ? 'stored' : 'merged')
  await redis.call(...wake)
  redis.socket.end()
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await main(...process.argv.slice(2))
