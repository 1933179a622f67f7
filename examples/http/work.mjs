// Handles the messages of some topics, one at a time, until Ctrl-C or SIGTERM.
//
//	node work.mjs orders mails
import { Client } from './rmq.mjs'

// Your work. What it throws is why the message failed; it comes again then, 17 times in all.
async function handle(message, batch) {
  console.log(`${batch.topic} slot ${batch.slot}, attempt ${batch.attempt}: ${message.content}`)
}

if (process.argv.length < 3) {
  console.error('node work.mjs TOPIC...')
  process.exit(1)
}
const stop = new AbortController()
for (const s of ['SIGINT', 'SIGTERM']) process.on(s, () => stop.abort())
await new Client().work(process.argv.slice(2), handle, { signal: stop.signal })
