import { createHash } from 'node:crypto'
import { composeAnswer } from './answer.ts'
import { type BreakOff, DirectiveError } from './directives.ts'
import type { Ending, Script, Step } from './exchange.ts'
import { readRequest, type SimulatorRequest } from './request.ts'
import { renderChunks, renderCompletion, renderError } from './wire.ts'

const PACE_MS = 20
/** A whole answer takes no longer than this, unless the prompt asks for it. */
const WHOLE_ANSWER_MS = 50

/** What comes back for a request body: it depends on the body alone. */
export function scriptFor(body: string): Script {
  try {
    return answerScript(readRequest(body), createHash('sha256').update(body).digest('hex').slice(0, 24))
  } catch (error) {
    if (error instanceof DirectiveError) return errorScript({ status: 400, message: error.message }, 0)
    throw error
  }
}

function answerScript(request: SimulatorRequest, digest: string): Script {
  const { error, breakOff, delayMs = 0 } = request.directives
  if (error !== undefined && (error.after === undefined || !request.stream)) return errorScript(error, delayMs)
  const type = request.stream ? 'text/event-stream; charset=utf-8' : 'application/json'
  const head = { status: 200, headers: { 'content-type': type, 'x-request-id': `sim-${digest}` } }
  if (breakOff !== undefined && breakOff.after === undefined)
    return { headAfterMs: delayMs, ...neverBegun(breakOff.how, head) }
  const answer = composeAnswer(request, digest)
  if (request.stream) return { head, headAfterMs: delayMs, body: streamSteps(request, renderChunks(request, answer)) }
  const { paceMs = PACE_MS } = request.directives
  const headAfterMs = delayMs + Math.min(WHOLE_ANSWER_MS, paceMs * answer.usage.completionTokens)
  return { head, headAfterMs, body: wholeSteps(renderCompletion(request, answer), breakOff?.how) }
}

function errorScript(error: { status: number; message: string }, headAfterMs: number): Script {
  const retry: Record<string, string> = error.status === 429 || error.status === 503 ? { 'retry-after': '1' } : {}
  const head = { status: error.status, headers: { 'content-type': 'application/json', ...retry } }
  return { head, headAfterMs, body: wholeSteps(renderError(error)) }
}

function neverBegun(how: BreakOff, head: Exclude<Script['head'], string>): Pick<Script, 'head' | 'body'> {
  return { head: how === 'close' ? head : how, body: wholeSteps('') }
}

/** @param how Breaks off in the middle. */
function* wholeSteps(text: string, how?: BreakOff): Generator<Step, Ending> {
  yield { afterMs: 0, text: how === undefined ? text : text.slice(0, text.length / 2) }
  return endingOf(how)
}

function* streamSteps(request: SimulatorRequest, chunks: ReturnType<typeof renderChunks>): Generator<Step, Ending> {
  const { error, breakOff, paceMs = PACE_MS } = request.directives
  const limit = error?.after ?? breakOff?.after ?? Number.POSITIVE_INFINITY
  let tokens = 0
  for (const { kind, data } of chunks) {
    if (kind !== 'start' && limit !== Number.POSITIVE_INFINITY && (tokens >= limit || kind === 'end')) {
      if (error !== undefined) yield { afterMs: 0, text: frame(renderError(error)) }
      return endingOf(error === undefined ? breakOff?.how : undefined)
    }
    if (kind === 'token') tokens += 1
    yield { afterMs: kind === 'token' ? paceMs : 0, text: frame(data) }
  }
  return 'end'
}

function endingOf(how: BreakOff | undefined): Ending {
  return how === 'cut' || how === 'stall' ? how : 'end'
}

function frame(data: string): string {
  return `data: ${data}\n\n`
}
