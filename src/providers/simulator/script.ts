/** The simulator's exchange: the response to a request body, in bytes of the chat-completions format, with its timing. */
import { createHash } from 'node:crypto'
import type { UpstreamExchange, UpstreamHead } from '../provider.ts'
import { type Answer, type AnswerChoice, type AnswerUsage, composeAnswer } from './answer.ts'
import { type BreakOff, DirectiveError, readRequest, type SimulatorRequest } from './request.ts'

const PACE_MS = 20
/** A whole answer takes no longer than this, unless the prompt asks for it. */
const WHOLE_ANSWER_MS = 50

/** The response to a request body, which depends on the body only. */
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

/** One event of a stream. `token`: a piece of the answer; `end`: completes the answer. */
interface Chunk {
  readonly kind: 'start' | 'token' | 'end'
  readonly data: string
}

/** Error answers and in-band errors alike. */
function renderError({ status, message }: { status: number; message: string }): string {
  const type = status === 429 ? 'rate_limit_error' : status < 500 ? 'invalid_request_error' : 'server_error'
  return JSON.stringify({ error: { message, type, param: null, code: null } })
}

function renderCompletion(request: SimulatorRequest, answer: Answer): string {
  const choices = answer.choices.map((choice, index) => ({
    index,
    message: {
      role: 'assistant',
      content: choice.toolCalls.length > 0 || choice.refusal.length > 0 ? null : choice.text.join(''),
      refusal: choice.refusal.length > 0 ? choice.refusal.join('') : null,
      ...(choice.reasoning.length > 0 ? { reasoning_content: choice.reasoning.join('') } : {}),
      ...(choice.toolCalls.length > 0 ? { tool_calls: choice.toolCalls.map(wholeToolCall) } : {}),
    },
    logprobs: logprobs(request, choice.text),
    finish_reason: choice.finish,
  }))
  const usage = request.directives.hasUsage ? { usage: renderUsage(answer.usage) } : {}
  return JSON.stringify({ ...envelope(request, answer, 'chat.completion'), choices, ...usage })
}

/** The choices take turns, a token each. */
function* renderChunks(request: SimulatorRequest, answer: Answer): Generator<Chunk, void> {
  const head = envelope(request, answer, 'chat.completion.chunk')
  const chunk = (kind: Chunk['kind'], index: number, delta: object, finish: string | null = null): Chunk => {
    const text = finish === null && 'content' in delta ? [String(delta.content)] : []
    const choice = { index, delta, logprobs: kind === 'token' ? logprobs(request, text) : null, finish_reason: finish }
    return { kind, data: JSON.stringify({ ...head, choices: [choice] }) }
  }
  for (const index of answer.choices.keys()) yield chunk('start', index, { role: 'assistant', content: '' })
  const turns = answer.choices.map((choice, index) => ({ index, deltas: deltasOf(choice) }))
  while (turns.length > 0) {
    for (const turn of [...turns]) {
      const { value, done } = turn.deltas.next()
      if (done === true) turns.splice(turns.indexOf(turn), 1)
      else yield chunk('token', turn.index, value)
    }
  }
  for (const [index, { finish }] of answer.choices.entries()) yield chunk('end', index, {}, finish)
  if (request.includesUsage && request.directives.hasUsage) {
    yield { kind: 'end', data: JSON.stringify({ ...head, choices: [], usage: renderUsage(answer.usage) }) }
  }
  yield { kind: 'end', data: '[DONE]' }
}

function* deltasOf({ reasoning, text, refusal, toolCalls }: AnswerChoice): Generator<object, void> {
  for (const token of reasoning) yield { reasoning_content: token }
  for (const token of text) yield { content: token }
  for (const token of refusal) yield { refusal: token }
  for (const [index, { id, name, arguments: tokens }] of toolCalls.entries()) {
    yield { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }
    for (const token of tokens) yield { tool_calls: [{ index, function: { arguments: token } }] }
  }
}

/** `created` is 0: a clock would make answers depend on more than the request. */
function envelope({ model }: SimulatorRequest, { id }: Answer, object: string) {
  return { id, object, created: 0, model, system_fingerprint: 'fp_simulator' }
}

function wholeToolCall({ id, name, arguments: tokens }: AnswerChoice['toolCalls'][number]) {
  return { id, type: 'function', function: { name, arguments: tokens.join('') } }
}

function renderUsage({ promptTokens, completionTokens, reasoningTokens, cachedTokens }: AnswerUsage) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}

/** The simulator is always certain: each token has probability 1, its alternatives are itself. */
function logprobs({ topLogprobs }: SimulatorRequest, tokens: readonly string[]) {
  if (topLogprobs === undefined) return null
  const content = tokens.map((token) => {
    const certain = { token, logprob: 0, bytes: [...Buffer.from(token)] }
    return { ...certain, top_logprobs: topLogprobs > 0 ? [certain] : [] }
  })
  return { content, refusal: null }
}

/** A piece of the body, and the delay before it. */
interface Step {
  readonly afterMs: number
  readonly text: string
}

/** How a body ends: in order, by a broken connection, or never. */
type Ending = 'end' | 'cut' | 'stall'

interface Script {
  readonly headAfterMs: number
  /** Or how the response ends before its head. */
  readonly head: UpstreamHead | Exclude<Ending, 'end'>
  readonly body: Iterator<Step, Ending>
}

/** What is ready at once is read at once, up to about this much. */
const READ_CHARACTERS = 16_384

interface Play {
  readonly script: Script
  next: IteratorResult<Step, Ending> | undefined
  failure: Error | undefined
  /** Ends the wait that is under way. */
  cancel: ((failure: Error) => void) | undefined
}

/** Plays a script as if it came from a network. */
export function perform(script: Script): UpstreamExchange {
  const play: Play = { script, next: undefined, failure: undefined, cancel: undefined }
  const head = playHead(play)
  head.catch(() => {}) // an exchange may be aborted before anybody asks for its head
  return {
    head,
    read: async () => {
      await head
      return await readBody(play)
    },
    abort: () => {
      play.failure ??= new Error('The call was aborted.')
      play.cancel?.(play.failure)
    },
  }
}

async function playHead(play: Play): Promise<UpstreamHead> {
  const { head, headAfterMs } = play.script
  await wait(play, headAfterMs)
  if (head === 'stall') await wait(play, Number.POSITIVE_INFINITY)
  if (head === 'cut' || head === 'stall') throw broken()
  return head
}

async function readBody(play: Play): Promise<Uint8Array | undefined> {
  if (play.failure !== undefined) throw play.failure
  const first = peek(play)
  if (first.done === true) return await endBody(play, first.value)
  await wait(play, first.value.afterMs)
  let text = take(play)
  for (let next = peek(play); next.done !== true && next.value.afterMs === 0; next = peek(play)) {
    if (text.length > READ_CHARACTERS) break
    text += take(play)
  }
  return Buffer.from(text)
}

async function endBody(play: Play, ending: Ending): Promise<undefined> {
  if (ending === 'stall') await wait(play, Number.POSITIVE_INFINITY)
  if (ending === 'cut') throw broken()
  return undefined
}

function peek(play: Play): IteratorResult<Step, Ending> {
  play.next ??= play.script.body.next()
  return play.next
}

function take(play: Play): string {
  const { value, done } = peek(play)
  if (done === true) return ''
  play.next = undefined
  return value.text
}

/** Rejects as soon as the exchange is aborted. Also no time at all is a turn of the event loop. */
async function wait(play: Play, ms: number): Promise<void> {
  if (play.failure !== undefined) throw play.failure
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stopTimer = startTimer(ms, resolve)
  play.cancel = (failure) => {
    stopTimer()
    reject(failure)
  }
  await promise
  play.cancel = undefined
}

function startTimer(ms: number, done: () => void): () => void {
  if (ms === Number.POSITIVE_INFINITY) return () => {}
  if (ms > 0) {
    const timer = setTimeout(done, ms)
    return () => clearTimeout(timer)
  }
  const immediate = setImmediate(done)
  return () => clearImmediate(immediate)
}

function broken(): Error {
  return new Error('The simulator broke the connection.')
}
