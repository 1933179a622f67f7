// A worker that a test may kill: it writes down what it handles. worker.mjs CLIENT NAME LOG TOPIC
import { openSync, writeSync } from 'node:fs'

const [lib, name, path, topic] = process.argv.slice(2)
const { Client } = await import(lib)
const log = openSync(path, 'a')

// The wall clock has milliseconds. What is finer comes from the other clock, which drifts away from it: it is put right.
let offset = performance.timeOrigin

function micros() {
  const wall = Date.now()
  const fine = performance.now() + offset
  if (fine < wall) offset += wall - fine
  if (fine > wall + 1) offset -= fine - wall - 1
  return BigInt(Math.round((performance.now() + offset) * 1000))
}

function write(kind, message, batch) {
  const fields = [micros() * 1000n, name, kind, batch.topic, batch.slot, batch.fence, batch.attempt, 0, JSON.stringify(message.content), '""']
  writeSync(log, fields.join('\t') + '\n')
}

await new Client().work([topic], async (message, batch) => {
  write('start', message, batch)
  await new Promise((go) => setTimeout(go, 2))
  write('done', message, batch)
}, { ttr: '30s' })
