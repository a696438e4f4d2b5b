import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GatewayError } from '../domain/errors.ts'
import { guardBody, parseJsonBody } from '../domain/json-body.ts'

/** For routes that set no limit of their own. */
export const DEFAULT_BODY_LIMIT_BYTES = 256 * 1024
/** The rest of a refused body is thrown away for this long, so that the client sees the answer. */
export const MAX_DISCARD_MS = 10_000

/** Reads JSON bodies up to the route's limit. Refuses every other content type and encoding. */
export function acceptJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    ['application/json', 'text/json'],
    async (request: FastifyRequest, payload: NodeJS.ReadableStream) => {
      refuseEncoding(request)
      const limit = request.routeOptions.config.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES
      const body = parseJsonBody(await readBody(request, payload, limit))
      guardBody(body)
      return body
    },
  )
}

function refuseEncoding({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding']
  if (encoding === undefined || encoding === 'identity') return
  throw new GatewayError('unsupported_media_type', 'Compressed request bodies are not accepted.')
}

async function readBody(request: FastifyRequest, payload: NodeJS.ReadableStream, limit: number): Promise<string> {
  const declared = Number(request.headers['content-length'] ?? 0)
  const body = declared > limit ? undefined : await gather(payload, limit)
  if (body !== undefined) return body
  await discardRest(payload, 2 * limit)
  const message = `The request body is larger than the ${limit} bytes that are accepted.`
  throw new GatewayError('body_too_large', message)
}

/** @returns the whole body; undefined, with the rest unread, once it is larger than `limit` bytes. */
function gather(payload: NodeJS.ReadableStream, limit: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let received = 0
    const cut = (): void => reject(new GatewayError('invalid_json', 'The body was cut off.'))
    payload.on('data', (chunk: Buffer) => {
      received += chunk.length
      chunks.push(chunk)
      if (received <= limit) return
      payload.removeAllListeners('data')
      payload.removeListener('close', cut)
      resolve(undefined)
    })
    payload.once('end', () => {
      payload.removeListener('close', cut)
      resolve(joinText(chunks))
      chunks.length = 0 // the listeners stay as long as the request, and a stream may be long
    })
    payload.once('error', reject)
    payload.once('close', cut)
  })
}

function joinText(chunks: readonly Buffer[]): string {
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only.toString('utf8') : Buffer.concat(chunks).toString('utf8')
}

/** Goes on reading, up to `maxBytes` and for 10 s: a client that is still writing does not read an answer. */
function discardRest(payload: NodeJS.ReadableStream, maxBytes: number): Promise<void> {
  return new Promise((resolve) => {
    let discarded = 0
    const stop = (): void => {
      clearTimeout(timer)
      payload.removeAllListeners('data')
      payload.pause()
      resolve()
    }
    const timer = setTimeout(stop, MAX_DISCARD_MS)
    payload.on('data', (chunk: Buffer) => {
      discarded += chunk.length
      if (discarded > maxBytes) stop()
    })
    payload.once('end', stop)
    payload.once('close', stop)
    payload.resume()
  })
}
