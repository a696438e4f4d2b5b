/** The simulator's answers in the bytes of the chat-completions format. */
import type { Answer, AnswerChoice, AnswerUsage } from './answer.ts'
import type { SimulatorRequest } from './request.ts'

/** One event of a stream. `token`: a piece of the answer; `end`: what makes the answer complete. */
export interface Chunk {
  readonly kind: 'start' | 'token' | 'end'
  readonly data: string
}

/** Error answers and in-band errors alike. */
export function renderError({ status, message }: { status: number; message: string }): string {
  const type = status === 429 ? 'rate_limit_error' : status < 500 ? 'invalid_request_error' : 'server_error'
  return JSON.stringify({ error: { message, type, param: null, code: null } })
}

export function renderCompletion(request: SimulatorRequest, answer: Answer): string {
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
export function* renderChunks(request: SimulatorRequest, answer: Answer): Generator<Chunk, void> {
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
