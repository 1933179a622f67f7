// RMQ over HTTP, with nothing but Node's own library (18 or newer). Copy this file.
//
//	import { Client } from './rmq.mjs'
//	const client = new Client()                     // RMQ_URL and RMQ_TOKEN say where, and who
//	await client.send('orders', { content: 'order 4711', priority: 500 })
//	await client.work(['orders'], handle)           // handle(message, batch) is yours

import http from 'node:http'
import https from 'node:https'

/** What the gateway says if it does not do something. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || `status ${status}`)
    Object.assign(this, { status, body })
  }
}

/** Throw it in a handler: the message comes again, after `again` if that is given, such as "10m". */
export class Failed extends Error {
  constructor(why, again) {
    super(why)
    this.again = again
  }
}

/** Throw it in a handler: the message is not worth another try. */
export class Dead extends Error {}

export class Client {
  constructor({ url = process.env.RMQ_URL ?? 'http://localhost:8080', token = process.env.RMQ_TOKEN, patience = 120 } = {}) {
    if (!/^https?:\/\/[^/]/.test(url)) throw new Error(`RMQ_URL is ${url}; it must be one such as http://localhost:8080`)
    Object.assign(this, { url: url.replace(/\/+$/, ''), token, patience, limit: 90 })
  }

  /** Sends one message: {content} and priority, range, in or at, as the topic's kind needs. */
  send(topic, message) {
    return this.call('POST', path(topic), message)
  }

  /** Sends up to 1,000 messages; the answer has a result for each. */
  sendMany(topic, messages) {
    return this.call('POST', path(topic), { messages })
  }

  /** Takes a batch from the first topic that has something; null if nothing came. */
  take(topics, { ttr = '60s', wait = '20s', most = 1, signal } = {}) {
    return this.call('POST', '/v1/take', { topics, ttr, wait, most }, signal)
  }

  /** Handles messages one by one until the signal is aborted. */
  async work(topics, handle, { ttr = '60s', signal } = {}) {
    while (!signal?.aborted) {
      let batch
      try {
        batch = await this.take(topics, { ttr, signal })
      } catch (e) {
        if (signal?.aborted) return // the gateway gives back what it took meanwhile
        throw e
      }
      if (batch) await this.handle(batch, handle, ttr)
    }
  }

  async handle(batch, handle, ttr) {
    const receipt = { receipt: batch.receipt }
    // Keeps the batch while the handler runs. If it is lost, the handler's work does not count.
    const beat = setInterval(() => this.call('POST', '/v1/extend', receipt).catch(() => {}), (1000 * seconds(ttr)) / 3)
    let result
    try {
      for (const message of batch.messages) await handle(message, batch)
      result = ['/v1/finish', receipt]
    } catch (e) {
      if (!(e instanceof Failed || e instanceof Dead)) console.warn(`a message of ${batch.topic} failed:`, e)
      result = ['/v1/fail', { ...receipt, why: plain(e), in: e?.again, outcome: e instanceof Dead ? 'dead' : 'failed' }]
    } finally {
      clearInterval(beat)
    }
    return (await this.call('POST', ...result)).counted
  }

  /** One request. It is repeated while no gateway can do it: sends merge, and a finish counts once. */
  async call(method, path, body, signal) {
    const over = Date.now() + 1000 * this.patience
    let failures = 0
    for (let pause = 100; ; pause = Math.min(2 * pause, 2000)) {
      try {
        return await this.ask(method, path, body, signal)
      } catch (e) {
        const passes = !(e instanceof Problem) || e.status === 429 || e.status === 503
        if (!passes || signal?.aborted || Date.now() > over) throw e
        if (++failures === 2) console.warn(`${this.url}${path}: ${e.message || e.code}; it is tried again for ${this.patience} s`)
      }
      await new Promise((go) => setTimeout(go, pause * (0.5 + Math.random() / 2)))
    }
  }

  /** One try of it. Not with fetch: the first one of a process waits forever, in Node 20, if the other side closes at once. */
  async ask(method, path, body, signal) {
    const url = new URL(this.url + path)
    const headers = { 'Content-Type': 'application/json' }
    if (this.token) headers.Authorization = `Bearer ${this.token}`
    let pending // the request, and then its answer
    const over = setTimeout(() => pending.destroy(new Error(`no whole answer within ${this.limit} s`)), 1000 * this.limit)
    let answer
    let text = ''
    try {
      answer = pending = await new Promise((resolve, reject) => {
        pending = (url.protocol === 'https:' ? https : http).request(url, { method, headers, signal }, resolve)
        pending.on('error', reject)
        pending.end(body && JSON.stringify(body))
      })
      for await (const part of answer.setEncoding('utf8')) text += part
    } finally {
      clearTimeout(over)
    }
    if (answer.statusCode === 204) return null
    let found
    try {
      found = JSON.parse(text)
    } catch {}
    if (typeof found !== 'object' || !found) {
      if (answer.statusCode < 300) throw new Error('an answer that is cut, or not of a gateway')
      found = { detail: text }
    }
    if (answer.statusCode >= 300) throw new Problem(answer.statusCode, found)
    return found
  }
}

const path = (topic) => `/v1/topics/${encodeURIComponent(topic)}/messages`

/** What an error says. Half a character, of a text that was cut, is replaced: the gateway does not take it. */
const plain = (error) => Buffer.from(String(error?.message ?? error)).toString()

/** A duration of one number and one unit: "90s", "5m", "1h". */
const seconds = (span) => parseFloat(span) * { s: 1, m: 60, h: 3600 }[span.at(-1)]
