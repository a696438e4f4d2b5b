/**
 * The baseline of the bench: a minimal forwarder from `node:http` to `undici`, which parses and serialises every body and
 * chunk, with one write per network read.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'

const [upstreamPort = ''] = process.argv.slice(2)
const pool = new Pool(`http://127.0.0.1:${upstreamPort}`, { pipelining: 1, bodyTimeout: 0, headersTimeout: 0 })

function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => resolve(Buffer.concat(pieces).toString()))
  })
}

function again(json: string): string {
  return JSON.stringify(JSON.parse(json))
}

async function forwardStream(from: AsyncIterable<Buffer>, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of from) {
    const frames = (rest + decoder.decode(bytes, { stream: true })).split('\n\n')
    rest = frames.pop() ?? ''
    let out = ''
    for (const frame of frames) {
      const data = frame.slice(6)
      out += data === '[DONE]' ? 'data: [DONE]\n\n' : `data: ${again(data)}\n\n`
    }
    if (out !== '') response.write(out)
  }
  response.end()
}

const server = createServer(async (request, response) => {
  const body = JSON.parse(await readBody(request)) as { readonly stream?: boolean }
  const answer = await pool.request({
    path: '/v1/chat/completions',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  response.on('close', () => answer.body.on('error', () => {}).destroy())
  if (body.stream === true) return await forwardStream(answer.body, response)
  const text = again(await answer.body.text())
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
process.on('unhandledRejection', () => {})
