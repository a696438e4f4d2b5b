/**
 * The loop of an agent, between a model and a sandbox: call the model, run its tool calls, return the results, until it
 * calls `finish`. Step and cost limits are checked before each call.
 */
import type { RunError } from '../../domain/agent.ts'
import { type ErrorCode, GatewayError } from '../../domain/errors.ts'
import { usdText } from '../../domain/money.ts'
import { plainText, tidy } from '../plain-text.ts'
import {
  type AgentMessage,
  type LoopEnding,
  LoopFailure,
  type LoopInput,
  type LoopUsage,
  type ModelAnswer,
  type ModelRequest,
  type ToolMessage,
} from '../ports.ts'
import {
  createRepeatCounter,
  type LoopState,
  type ParsedAnswer,
  parseAnswer,
  resetIdle,
  runCalls,
  summaryText,
} from './calls.ts'
import { createContextWindow } from './context-window.ts'
import { MAX_FAILURES, MAX_IDLE_ANSWERS, MAX_TEXT_BYTES, MAX_WAIT_MS } from './limits.ts'
import { EMPTY_NUDGE, FILTER_NUDGE, LENGTH_NUDGE, NUDGE } from './prompt.ts'

/** Rejects with what `record`, `followUps` or the sandbox reject with, unless the signal is aborted. */
export async function runLoop(input: LoopInput): Promise<LoopEnding> {
  try {
    const state = createState(input)
    while (true) {
      const summary = await step(state)
      if (summary === undefined) continue
      resetIdle(state)
      if ((await addFollowUps(state)) > 0) continue
      return { kind: 'completed', summary }
    }
  } catch (error) {
    if (input.signal.aborted) return { kind: 'cancelled' }
    if (error instanceof LoopFailure) return { kind: 'failed', code: error.code, message: error.message }
    throw error
  }
}

function createState(input: LoopInput): LoopState {
  const conversation = repairConversation(input.conversation).map((each) =>
    each.role === 'user' ? userMessage(each.content) : each,
  )
  const calls = conversation.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
  return {
    input,
    context: createContextWindow(conversation, input),
    repeats: createRepeatCounter(),
    callIds: new Set(calls.map(({ id }) => id)),
    steps: input.used?.steps ?? 0,
    costNanoUsd: input.used?.costNanoUsd ?? 0n,
    idleAnswers: 0,
    lastText: '',
    fullWorkspace: 0,
  }
}

/** @returns The summary when the model is done. */
async function step(state: LoopState): Promise<string | undefined> {
  state.input.signal.throwIfAborted()
  await addFollowUps(state)
  if (state.steps >= state.input.limits.maxSteps) {
    throw new LoopFailure('max_steps', `Step limit of ${state.input.limits.maxSteps} reached.`)
  }
  const raw = await callForStep(state)
  const answer = parseAnswer(raw, state.callIds)
  state.steps += 1
  const usage = charge(state, raw)
  if (answer.message === undefined) {
    await state.input.record({ type: 'usage', usage })
    return handleIdleAnswer(state, answer)
  }
  state.context.addAnswer(answer.message, raw.promptTokens)
  await state.input.record({ type: 'answer', message: answer.message, usage })
  return answer.calls.length > 0 ? await runCalls(state, answer) : handleIdleAnswer(state, answer)
}

async function callForStep(state: LoopState): Promise<ModelAnswer> {
  while (true) {
    await compact(state)
    try {
      return await callWithinCost(state, state.context.request())
    } catch (error) {
      if (!(error instanceof ContextOverflowError)) throw error
      if (!state.context.markTooLong()) throw new LoopFailure('provider_error', error.message, { cause: error })
    }
  }
}

async function compact(state: LoopState): Promise<void> {
  const { context, input } = state
  const plan = await context.compact()
  if (plan === undefined) return
  const summary = await callForSummary(state, plan.request)
  const message = await context.replace(plan, summary?.text ?? '')
  const entry = { type: 'summary' as const, message, kept: plan.kept }
  await input.record(summary === undefined ? entry : { ...entry, usage: summary.usage })
}

/** Undefined when even this request was too long: then the summary lists the calls. */
async function callForSummary(
  state: LoopState,
  request: ModelRequest,
): Promise<{ text: string; usage: LoopUsage } | undefined> {
  try {
    const answer = await callWithinCost(state, request)
    return { text: tidy(answer.message.content ?? '', MAX_TEXT_BYTES), usage: charge(state, answer) }
  } catch (error) {
    if (error instanceof ContextOverflowError) return undefined
    throw error
  }
}

async function callWithinCost(state: LoopState, request: ModelRequest): Promise<ModelAnswer> {
  const { maxCostNanoUsd } = state.input.limits
  if (maxCostNanoUsd !== undefined && state.costNanoUsd >= maxCostNanoUsd) {
    throw new LoopFailure('max_cost', `Cost limit of $${usdText(maxCostNanoUsd)} reached.`)
  }
  return await callWithRetry(request, state.input)
}

function charge(state: LoopState, answer: ModelAnswer): LoopUsage {
  state.costNanoUsd += answer.costNanoUsd
  const { completionId, promptTokens, completionTokens, costNanoUsd } = answer
  const total = { steps: state.steps, costNanoUsd: state.costNanoUsd }
  return { completionId, promptTokens, completionTokens, costNanoUsd, total }
}

/** Handles an answer without a call: a first text gets a nudge; after a second one, the longer of both is the summary. */
function handleIdleAnswer(state: LoopState, { text, finishReason }: ParsedAnswer): string | undefined {
  state.idleAnswers += 1
  const isComplete = finishReason !== 'length' && finishReason !== 'content_filter'
  if (isComplete && text !== '' && state.idleAnswers > 1)
    return summaryText(text.length >= state.lastText.length ? text : state.lastText)
  if (isComplete) state.lastText = text
  if (state.idleAnswers >= MAX_IDLE_ANSWERS) {
    const reason = REASONS[finishReason] ?? 'the answers are empty'
    const message = `The model returned no usable output ${MAX_IDLE_ANSWERS} times in a row: ${reason}.`
    throw new LoopFailure('provider_error', message)
  }
  state.context.add({ role: 'user', content: NUDGES[finishReason] ?? (text === '' ? EMPTY_NUDGE : NUDGE) })
  return undefined
}

const NUDGES: Readonly<Record<string, string>> = { length: LENGTH_NUDGE, content_filter: FILTER_NUDGE }
const REASONS: Readonly<Record<string, string>> = {
  length: 'the answers end at the output limit',
  content_filter: 'the provider’s content filter stops the answers',
}

/** @returns Their number. */
async function addFollowUps({ input, context }: LoopState): Promise<number> {
  const texts = await input.followUps()
  for (const text of texts) context.add(userMessage(text))
  return texts.length
}

function userMessage(text: string): AgentMessage {
  return { role: 'user', content: tidy(text, MAX_TEXT_BYTES) }
}

const FIRST_WAIT_MS = 1_000

/** The provider rejected the conversation as too long. */
class ContextOverflowError extends Error {
  override readonly name = 'ContextOverflowError'
}

type ModelCall = Pick<LoopInput, 'ask' | 'signal' | 'random' | 'sleep'>

/** Throws `LoopFailure` and `ContextOverflowError`. */
async function callWithRetry(request: ModelRequest, call: ModelCall): Promise<ModelAnswer> {
  for (let failures = 1; ; failures++) {
    try {
      return await call.ask(request, call.signal)
    } catch (error) {
      call.signal.throwIfAborted()
      if (!(error instanceof GatewayError)) throw error
      if (error.code === 'context_length_exceeded' || error.code === 'body_too_large') {
        throw new ContextOverflowError(error.message, { cause: error })
      }
      if (!error.retryable || failures >= MAX_FAILURES) throw failureOf(error)
      await call.sleep(waitMs(error, failures, call.random()), call.signal)
    }
  }
}

/** Returns the provider's `retry-after`, else exponential backoff, with jitter. */
function waitMs({ retryAfterMs }: GatewayError, failures: number, jitter: number): number {
  const delayMs = retryAfterMs ?? FIRST_WAIT_MS * 2 ** (failures - 1)
  return Math.min(MAX_WAIT_MS, Math.round(delayMs * (1 + jitter / 4)))
}

const RUN_ERROR_OF: Partial<Record<ErrorCode, RunError>> = {
  rate_limit_exceeded: 'rate_limited',
  internal_error: 'internal_error',
  database_unavailable: 'internal_error',
  model_not_found: 'model_unavailable',
  model_not_priced: 'model_unavailable',
  unsupported_parameter: 'model_unavailable',
  unsupported_content: 'model_unavailable',
  provider_credentials: 'provider_error',
}

function failureOf(error: GatewayError): LoopFailure {
  return new LoopFailure(runErrorCode(error), plainText(error.message), { cause: error })
}

function runErrorCode({ code, status }: GatewayError): RunError {
  if (status === 402) return 'insufficient_credit'
  if (status === 401 || status === 403) return 'model_unavailable'
  return RUN_ERROR_OF[code] ?? 'provider_error'
}

const NOT_RUN = 'The state was interrupted before this call had a result. It may have been run in part.'

/**
 * Makes a conversation that was interrupted anywhere valid: each result follows its call, calls without a result get a
 * note, results without a call are dropped. The order of everything else stays.
 */
export function repairConversation(messages: readonly AgentMessage[]): AgentMessage[] {
  const results = new Map<string, ToolMessage>()
  for (const message of messages) if (message.role === 'tool') results.set(message.tool_call_id, message)
  return messages.flatMap((message): AgentMessage[] => {
    if (message.role === 'tool') return []
    if (message.role === 'user' || message.tool_calls === undefined) return [message]
    return [
      message,
      ...message.tool_calls.map(
        ({ id }): AgentMessage => results.get(id) ?? { role: 'tool', tool_call_id: id, content: NOT_RUN },
      ),
    ]
  })
}
