/**
 * The provider of the bench, in a separate process. The name of the model selects the answer: `json`, `json-<milliseconds>`
 * after a delay, `stream-<chunks>` at full speed, `paced-<chunks>` with a millisecond between chunks, `idle` after one
 * chunk, or `fails`. `GET` answers the number of streams that were aborted so far.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const HEAD = { id: 'chatcmpl-upstream', created: 1_760_000_000, model: 'upstream' }
const usage = (completion: number): object => ({
  prompt_tokens: 20,
  completion_tokens: completion,
  total_tokens: 20 + completion,
})
const WHOLE = JSON.stringify({
  ...HEAD,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(60) }, finish_reason: 'stop' }],
  usage: usage(60),
})
const frame = (choices: readonly object[], more: object = {}): string =>
  `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', choices, ...more })}\n\n`
const FIRST = frame([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }])
const WORD = frame([{ index: 0, delta: { content: ' word' }, finish_reason: null }])
const last = (chunks: number): string =>
  `${frame([{ index: 0, delta: {}, finish_reason: 'stop' }])}${frame([], { usage: usage(chunks) })}data: [DONE]\n\n`

let aborted = 0

async function stream(response: ServerResponse, model: string): Promise<void> {
  const [kind, count = '1'] = model.split('-')
  const chunks = Number(count)
  response.on('close', () => {
    if (!response.writableEnded) aborted++
  })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(FIRST)
  if (kind === 'idle') {
    response.write(WORD)
    return
  }
  for (let i = 0; i < chunks && !response.destroyed; i++) {
    if (kind === 'paced') await sleep(1)
    response.write(WORD)
  }
  response.end(last(chunks))
}

async function whole(response: ServerResponse, model: string): Promise<void> {
  const waitMs = Number(model.split('-')[1] ?? 0)
  if (waitMs > 0) await sleep(waitMs)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(WHOLE) })
  response.end(WHOLE)
}

const server = createServer((request, response) => {
  if (request.method === 'GET') return void response.end(String(aborted))
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    const { model } = JSON.parse(Buffer.concat(pieces).toString()) as { readonly model: string }
    if (model === 'fails') return void response.writeHead(500).end()
    void (model.startsWith('json') ? whole(response, model) : stream(response, model))
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
