/** Reads HTTP/1.1 requests from the socket of a fake service. Bodies need a content length. */
import type { Socket } from 'node:net'

export interface RawRequest {
  readonly method: string
  readonly path: string
  /** Names in small letters. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly bytes: Buffer
}

export interface RequestReader {
  /** The next whole request; undefined when the connection is over. */
  next(): Promise<RawRequest | undefined>
}

/** Reads as fast as it comes, so that the end of the connection is noticed at once. */
export function readRequests(socket: Socket): RequestReader {
  let unread: Buffer<ArrayBufferLike> = Buffer.alloc(0)
  let isOver = false
  let wake = (): void => {}
  socket.on('data', (bytes: Buffer) => {
    unread = Buffer.concat([unread, bytes])
    wake()
  })
  const end = (): void => {
    isOver = true
    wake()
  }
  socket.on('end', end).on('close', end).on('error', end)
  return {
    async next() {
      for (;;) {
        const taken = takeRequest(unread)
        if (taken !== undefined) {
          unread = taken.rest
          return taken.request
        }
        if (isOver) return undefined
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}

function takeRequest(bytes: Buffer): { readonly request: RawRequest; readonly rest: Buffer } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [requestLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  if ('transfer-encoding' in headers) throw new Error('This reader knows bodies with a length alone.')
  const bodyStart = headEnd + 4
  const bodyEnd = bodyStart + Number(headers['content-length'] ?? 0)
  if (bytes.length < bodyEnd) return undefined
  const [method = '', path = ''] = requestLine.split(' ')
  const body = Buffer.from(bytes.subarray(bodyStart, bodyEnd))
  return {
    request: { method, path, headers, body: body.toString(), bytes: body },
    rest: bytes.subarray(bodyEnd),
  }
}
