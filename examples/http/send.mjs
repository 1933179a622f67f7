// Sends a message, or the lines of stdin as messages, to a topic with priorities.
//
//	node send.mjs orders 500 "order 4711"
//	node send.mjs orders 500 < contents.txt
import { createInterface } from 'node:readline'
import { Client } from './rmq.mjs'

const [topic, priority, content] = process.argv.slice(2)
if (priority === undefined) {
  console.error('node send.mjs TOPIC PRIORITY [CONTENT]; without a content, the lines of stdin are sent')
  process.exit(1)
}
const client = new Client()

async function send(batch) {
  const answer = await client.sendMany(topic, batch)
  console.log(`${answer.stored} stored, ${answer.merged} merged, ${answer.failed} failed`)
}

if (content !== undefined) {
  console.log((await client.send(topic, { content, priority: Number(priority) })).outcome)
} else {
  let batch = []
  for await (const line of createInterface({ input: process.stdin })) {
    batch.push({ content: line, priority: Number(priority) })
    if (batch.length === 500) {
      await send(batch)
      batch = []
    }
  }
  if (batch.length) await send(batch)
}
