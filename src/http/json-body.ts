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
  if (declared > limit) throw refuseRest(payload, { limit, received: 0 })
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let received = 0
    const settle = (act: () => void): void => {
      payload.removeAllListeners('data')
      act()
    }
    payload.on('data', (chunk: Buffer) => {
      received += chunk.length
      if (received > limit) settle(() => reject(refuseRest(payload, { limit, received })))
      else chunks.push(chunk)
    })
    payload.once('end', () => settle(() => resolve(joinText(chunks))))
    payload.once('error', (error) => settle(() => reject(error)))
    payload.once('close', () => settle(() => reject(new GatewayError('invalid_json', 'The body was cut off.'))))
  })
}

function joinText(chunks: readonly Buffer[]): string {
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only.toString('utf8') : Buffer.concat(chunks).toString('utf8')
}

/** Goes on reading, up to twice the limit and for 10 s: a socket closed on a writing client loses our answer. */
function refuseRest(payload: NodeJS.ReadableStream, { limit, received }: { limit: number; received: number }): Error {
  let discarded = received
  const stop = (): void => {
    clearTimeout(timer)
    payload.removeAllListeners('data')
    payload.pause()
  }
  const timer = setTimeout(stop, MAX_DISCARD_MS)
  timer.unref()
  payload.on('data', (chunk: Buffer) => {
    discarded += chunk.length
    if (discarded > 2 * limit) stop()
  })
  payload.once('end', stop)
  payload.once('close', stop)
  payload.resume()
  return new GatewayError('body_too_large', `The request body is larger than the ${limit} bytes that are accepted.`)
}
