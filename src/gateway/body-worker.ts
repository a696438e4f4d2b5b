/** The thread of `large-bodies.ts`: checks, parses and measures one body at a time. */
import { parentPort } from 'node:worker_threads'
import { type PromptContent, promptContent } from '../domain/bounds/reservation.ts'
import { GatewayError } from '../domain/errors.ts'
import { checkJsonBytes, fingerprintOf, parseJsonBody } from '../domain/json-body.ts'
import { parseChatRequest } from '../protocols/openai-chat/client/request.ts'
import type { BodyReply, BodyRequest } from './large-bodies.ts'

function replyTo({ bytes, isChat, endpoint }: BodyRequest): BodyReply {
  try {
    const buffer = Buffer.from(bytes)
    checkJsonBytes(buffer)
    const body = parseJsonBody(buffer.toString('utf8'))
    const fingerprint = endpoint === undefined ? undefined : fingerprintOf({ endpoint, body })
    const prompt = isChat ? promptOf(body) : undefined
    return { parsed: { body, findings: { bytes: bytes.length, prompt, fingerprint } } }
  } catch (error) {
    const { code, message } = GatewayError.from(error)
    return { fault: { code, message } }
  }
}

/** Undefined for what is no valid request: the event loop finds out what is wrong with it. */
function promptOf(body: unknown): PromptContent | undefined {
  try {
    return promptContent(parseChatRequest(body))
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}

parentPort?.on('message', (request: BodyRequest) => parentPort?.postMessage(replyTo(request)))
