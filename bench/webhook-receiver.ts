/** Receiver of the webhook bench: responds with 204 and measures the delays of events. `GET /` returns and resets them. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const delaysMs: number[] = []

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(JSON.stringify({ delaysMs: delaysMs.splice(0) }))
    return
  }
  let body = ''
  request.setEncoding('utf8')
  request.on('data', (piece) => {
    body += piece
  })
  request.on('end', () => {
    delaysMs.push(Date.now() - Date.parse(/"created_at":"([^"]+)"/.exec(body)?.[1] ?? ''))
    response.writeHead(204).end()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
