/** The conversation as the model receives it, compacted before the context window is full. */
import {
  type AgentMessage,
  type AssistantMessage,
  LoopFailure,
  type LoopModel,
  type ModelRequest,
  type UserMessage,
} from '../ports.ts'
import {
  BYTES_OF_TOKEN,
  type CompactionPlan,
  type SizedConversation,
  tokensOf,
  tokensOfMessage,
  tokensOfText,
  type WindowBudget,
  windowBudget,
} from './compaction.ts'
import { ANSWER_PART_OF_WINDOW, MAX_ANSWER_TOKENS, MAX_COMPACTED_BYTES } from './limits.ts'
import { SYSTEM_PROMPT, TOOLS } from './prompt.ts'
import { runTask, WorkThreadError } from './work-thread.ts'
import type { Tasks } from './work-worker.ts'

export type SummaryPlan = Extract<CompactionPlan, { kind: 'summary' }>

export interface ContextWindow {
  add(message: AgentMessage): void
  /** @param promptTokens Of the request that it answers, as the provider counted. */
  addAnswer(message: AssistantMessage, promptTokens: number): void
  request(): ModelRequest
  /**
   * Compacts the conversation where necessary, on the worker thread.
   * @returns A plan when the model must write a summary first. Rejects with `LoopFailure` when the thread fails.
   */
  compact(): Promise<SummaryPlan | undefined>
  /** Carries out a plan of `compact`. @param notes The model's summary; '' when there is none. */
  replace(plan: SummaryPlan, notes: string): Promise<UserMessage>
  /** The provider rejected the conversation as too long: the next `compact` shortens it. False: it cannot be shortened further. */
  markTooLong(): boolean
}

/** Tokens for messages below which no work is possible. */
const MIN_MESSAGE_TOKENS = 400
/** Rejections as too long in a row. */
const REJECTION_LIMIT = 3
/** Size of the next attempt, relative to the rejected one. */
const SHRINK_FACTOR = 0.6
/** A higher ratio means that the provider counted something else. */
const DENSITY_LIMIT = 3
const FIXED_TOKENS = tokensOfText(SYSTEM_PROMPT) + tokensOfText(JSON.stringify(TOOLS))

interface State {
  readonly model: LoopModel
  readonly signal: AbortSignal
  readonly answerTokens: number
  messages: AgentMessage[]
  /** Of the messages, as we estimate them. */
  tokens: number
  /** Tokens of the last answered request, as the provider counted, and our estimate of its messages. */
  known: { readonly counted: number; readonly estimated: number } | undefined
  /** Tokens that the provider counts for each token of our estimate. */
  density: number
  /** Upper bound of the messages, in our estimate, after a rejection. */
  maxTokens: number
  rejections: number
  mustShorten: boolean
}

/**
 * Throws `LoopFailure` when the window is too small to work in.
 * @param signal Ends a compaction.
 */
export function createContextWindow(
  conversation: readonly AgentMessage[],
  { model, signal }: { readonly model: LoopModel; readonly signal: AbortSignal },
): ContextWindow {
  const state: State = {
    model,
    signal,
    answerTokens: answerTokensOf(model),
    messages: [...conversation],
    tokens: tokensOf(conversation),
    known: undefined,
    density: 1,
    maxTokens: Number.POSITIVE_INFINITY,
    rejections: 0,
    mustShorten: false,
  }
  if (windowOf(state).full < MIN_MESSAGE_TOKENS) {
    const message = `The model’s context window of ${model.contextWindow} tokens is too small.`
    throw new LoopFailure('model_unavailable', message)
  }
  return {
    add: (message) => add(state, message),
    addAnswer: (message, promptTokens) => addAnswer(state, message, promptTokens),
    request: () => ({
      messages: [{ role: 'system', content: SYSTEM_PROMPT }, ...state.messages],
      tools: TOOLS,
      maxTokens: state.answerTokens,
    }),
    compact: () => compact(state),
    async replace({ replaced }, notes) {
      const input = { messages: state.messages, replaced, notes, window: windowOf(state) }
      const { summary, conversation: compacted } = await compactionTask(state, 'applySummary', input)
      setConversation(state, compacted)
      return summary
    },
    markTooLong: () => {
      state.maxTokens = Math.floor(Math.min(windowOf(state).full, state.tokens) * SHRINK_FACTOR)
      state.rejections += 1
      state.mustShorten = true
      return state.rejections <= REJECTION_LIMIT
    },
  }
}

function add(state: State, message: AgentMessage): void {
  state.messages.push(message)
  state.tokens += tokensOfMessage(message)
}

function addAnswer(state: State, message: AssistantMessage, promptTokens: number): void {
  state.density = Math.min(DENSITY_LIMIT, Math.max(1, promptTokens / (FIXED_TOKENS + state.tokens)))
  state.known = { counted: promptTokens, estimated: state.tokens }
  state.rejections = 0
  add(state, message)
}

async function compact(state: State): Promise<SummaryPlan | undefined> {
  const window = windowOf(state)
  if (!state.mustShorten && estimatedTokens(state) <= window.full) return undefined
  const plan = await compactionTask(state, 'planCompaction', state.messages, window)
  if (plan.kind === 'summary') return plan
  setConversation(state, plan.conversation)
  return undefined
}

async function compactionTask<Name extends 'planCompaction' | 'applySummary'>(
  { signal, tokens }: State,
  name: Name,
  ...input: Parameters<Tasks[Name]>
): Promise<ReturnType<Tasks[Name]>> {
  const bytes = tokens * BYTES_OF_TOKEN
  if (bytes > MAX_COMPACTED_BYTES) {
    const message = `The conversation of about ${bytes} bytes is too large to be compacted; the limit is ${MAX_COMPACTED_BYTES} bytes.`
    throw new LoopFailure('internal_error', message)
  }
  try {
    return await runTask(signal, name, ...input)
  } catch (error) {
    if (!(error instanceof WorkThreadError)) throw error
    throw new LoopFailure('internal_error', `The conversation could not be compacted: ${error.message}`, {
      cause: error,
    })
  }
}

function setConversation(state: State, { messages, tokens }: SizedConversation): void {
  state.messages = [...messages]
  state.tokens = tokens
  state.known = undefined
  state.mustShorten = false
}

function windowOf({ model, answerTokens, density, maxTokens }: State): WindowBudget {
  const { full, ...rest } = windowBudget(model.contextWindow, answerTokens, FIXED_TOKENS)
  return { ...rest, full: Math.min(maxTokens, Math.floor(full / density)) }
}

/** Estimated tokens of the messages. */
function estimatedTokens({ tokens, known, density }: State): number {
  if (known === undefined) return tokens
  return Math.max(0, known.counted / density - FIXED_TOKENS) + tokens - known.estimated
}

function answerTokensOf({ contextWindow, maxOutputTokens = MAX_ANSWER_TOKENS }: LoopModel): number {
  return Math.floor(Math.min(maxOutputTokens, MAX_ANSWER_TOKENS, contextWindow * ANSWER_PART_OF_WINDOW))
}
