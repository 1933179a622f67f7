// A worker that a test may kill: it writes down what it handles. worker.mjs CLIENT NAME LOG TOPIC
import { openSync, writeSync } from 'node:fs'

const [lib, name, path, topic] = process.argv.slice(2)
const { Client } = await import(lib)
const log = openSync(path, 'a')

function write(kind, message, batch) {
  const now = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n
  const fields = [now, name, kind, batch.topic, batch.slot, batch.fence, batch.attempt, 0, JSON.stringify(message.content), '""']
  writeSync(log, fields.join('\t') + '\n')
}

await new Client().work([topic], async (message, batch) => {
  write('start', message, batch)
  await new Promise((go) => setTimeout(go, 2))
  write('done', message, batch)
}, { ttr: '2s' })
