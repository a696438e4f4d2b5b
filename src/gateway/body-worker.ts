/** The thread of `large-bodies.ts`: checks, parses and measures one body at a time. */
import { parentPort } from 'node:worker_threads'
import { type PromptContent, promptContent } from '../domain/bounds/reservation.ts'
import { GatewayError } from '../domain/errors.ts'
import { checkJsonBytes, fingerprintOf, parseJsonBody } from '../domain/json-body.ts'
import { isRecord } from '../lib/json.ts'
import { messagesApi } from '../protocols/anthropic-messages/client/index.ts'
import { clientApiOf } from '../protocols/client-apis.ts'
import { type BodyPiece, type BodyReply, type BodyRequest, type Piece, splitBody } from './large-bodies.ts'

/** The unsent pieces of the last parsed body. */
let pieces: Iterator<Piece, void> = splitBody({})
let ahead = pieces.next()

function nextPiece(): BodyPiece {
  const piece = ahead.value ?? []
  ahead = pieces.next()
  const isLast = ahead.done === true
  if (isLast) pieces = splitBody({}) // frees the body
  return { piece, isLast }
}

function replyTo({ bytes, endpoint, isKeyed }: BodyRequest): BodyReply {
  try {
    const buffer = Buffer.from(bytes)
    checkJsonBytes(buffer)
    const body = parseJsonBody(buffer.toString('utf8'))
    const fingerprint = endpoint !== undefined && isKeyed ? fingerprintOf({ endpoint, body }) : undefined
    const prompt = endpoint === undefined ? undefined : promptOf(endpoint, body)
    pieces = splitBody(body)
    ahead = pieces.next()
    return { findings: { bytes: bytes.length, prompt, fingerprint }, ...nextPiece() }
  } catch (error) {
    const { code, message } = GatewayError.from(error)
    return { fault: { code, message } }
  }
}

/** Measures the prompt. Undefined for an invalid request, which the event loop rejects with the exact reason. */
function promptOf(endpoint: string, body: unknown): PromptContent | undefined {
  const api = clientApiOf(endpoint)
  // A Messages request whose tokens are to be counted has no `max_tokens`, which is no part of its prompt.
  const whole = api === messagesApi && isRecord(body) ? { max_tokens: 1, ...body } : body
  try {
    return api && promptContent(api.parse(whole))
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}

parentPort?.on('message', (message: BodyRequest | 'next') =>
  parentPort?.postMessage(message === 'next' ? nextPiece() : replyTo(message)),
)
