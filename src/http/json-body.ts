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
  app.addContentTypeParser(['application/json', 'text/json'], (request, payload, done) => {
    const refusal = refusalOfEncoding(request)
    if (refusal !== undefined) return void done(refusal)
    const limit = request.routeOptions.config.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES
    readBody({ request, payload, limit }, (error, text) => {
      if (error !== undefined) return done(error)
      // Many clients name the type of a body that they do not send.
      if (text === '' && request.routeOptions.schema?.body === undefined) return done(null)
      let body: unknown
      try {
        body = parseJsonBody(text)
        guardBody(body)
      } catch (fault) {
        return done(fault as Error) // both throw nothing but errors
      }
      done(null, body)
    })
  })
}

function refusalOfEncoding({ headers }: FastifyRequest): GatewayError | undefined {
  const encoding = headers['content-encoding']
  if (encoding === undefined || encoding === 'identity') return undefined
  return new GatewayError('unsupported_media_type', 'Compressed request bodies are not accepted.')
}

interface Reading {
  readonly request: FastifyRequest
  readonly payload: NodeJS.ReadableStream
  /** In bytes. */
  readonly limit: number
}

/** Calls back once: promises would only stand between the stream's events and Fastify's own callback. */
function readBody({ request, payload, limit }: Reading, done: (error: Error | undefined, text: string) => void): void {
  const refuse = (): void => {
    const message = `The request body is larger than the ${limit} bytes that are accepted.`
    void discardRest(payload, 2 * limit).then(() => done(new GatewayError('body_too_large', message), ''))
  }
  if (Number(request.headers['content-length'] ?? 0) > limit) return void refuse()
  let chunks: Buffer[] = []
  let received = 0
  let over = false
  const fail = (cause?: Error): void => {
    if (over) return
    over = true
    done(new GatewayError('invalid_json', 'The body was cut off.', { cause }), '')
  }
  payload.on('data', (chunk: Buffer) => {
    received += chunk.length
    chunks.push(chunk)
    if (received <= limit) return
    over = true
    chunks = []
    payload.removeAllListeners('data')
    refuse()
  })
  payload.on('end', () => {
    if (over) return
    over = true
    const text = joinText(chunks)
    chunks = [] // the listeners stay as long as the request, and a stream may be long
    done(undefined, text)
  })
  payload.on('error', fail)
  payload.on('close', fail)
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
