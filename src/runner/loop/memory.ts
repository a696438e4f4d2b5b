/** The conversation as the model is given it, and how full its window is. */
import type { AgentMessage, ModelRequest } from '../ports.ts'
import { type Cut, compacted, cutFor, divided, notesRequest, summaryOf, type Window } from './compact.ts'
import { ANSWER_PART_OF_WINDOW, MAX_ANSWER_TOKENS } from './limits.ts'
import { type AssistantMessage, LoopFailure, type LoopModel, type UserMessage } from './loop.ts'
import { SYSTEM_PROMPT } from './prompt.ts'
import { fitted, tokensOf, tokensOfText, withoutOldOutputs } from './shorten.ts'
import { TOOLS } from './tool-definitions.ts'

export interface Memory {
  add(message: AgentMessage): void
  /** @param promptTokens What the request that it answers was, as the provider counted. */
  answered(message: AssistantMessage, promptTokens: number): void
  request(): ModelRequest
  /** Makes the conversation shorter where it must be. @returns What needs notes for that; undefined: nothing. */
  makeRoom(): Cut | undefined
  notesRequest(cut: Cut): ModelRequest
  /** @returns The summary that stands for what was cut. */
  replace(cut: Cut, notes: string): UserMessage
  /** The provider says that it is too long: the next `makeRoom` acts. False when there is nothing left to shorten. */
  tooLong(): boolean
}

/** Fewer tokens for messages than this are of no use. */
const LEAST_ROOM = 400
/** A conversation without old outputs must be this much shorter to go on without notes. */
const WORTHWHILE = 0.7
/** How often a provider may say that it is too long. */
const TIMES_TOO_LONG = 3
/** What is tried then, of what was too long. */
const SHORTER = 0.6
/** A provider that counts more than this has counted something else. */
const MOST_DENSITY = 3
const FIXED_TOKENS = tokensOfText(SYSTEM_PROMPT) + tokensOfText(JSON.stringify(TOOLS))

interface State {
  readonly model: LoopModel
  readonly answerTokens: number
  messages: AgentMessage[]
  /** Of the first `counted` messages with all that goes with them, as the provider counted. */
  known: { readonly tokens: number; readonly counted: number } | undefined
  /** How many tokens the provider counts where we reckon one. */
  density: number
  /** Of the messages, as we reckon: what a provider has found too long was more than it takes. */
  mostTokens: number
  timesTooLong: number
  mustShorten: boolean
}

/** Throws `LoopFailure` when the window is too small to work in. */
export function createMemory(conversation: readonly AgentMessage[], model: LoopModel): Memory {
  const state: State = {
    model,
    answerTokens: answerTokensOf(model),
    messages: [...conversation],
    known: undefined,
    density: 1,
    mostTokens: Number.POSITIVE_INFINITY,
    timesTooLong: 0,
    mustShorten: false,
  }
  if (windowOf(state).full < LEAST_ROOM) {
    const message = `The model’s context window of ${model.contextWindow} tokens is too small.`
    throw new LoopFailure('model_unavailable', message)
  }
  return {
    add: (message) => void state.messages.push(message),
    answered: (message, promptTokens) => answered(state, message, promptTokens),
    request: () => ({
      messages: [{ role: 'system', content: SYSTEM_PROMPT }, ...state.messages],
      tools: TOOLS,
      maxTokens: state.answerTokens,
    }),
    makeRoom: () => makeRoom(state),
    notesRequest: (cut) => notesRequest(cut, windowOf(state)),
    replace: (cut, notes) => {
      const summary = summaryOf(cut, notes, windowOf(state))
      become(state, compacted(summary, cut, windowOf(state)))
      return summary
    },
    tooLong: () => {
      state.mostTokens = Math.floor(Math.min(windowOf(state).full, tokensOf(state.messages)) * SHORTER)
      state.timesTooLong += 1
      state.mustShorten = true
      return state.timesTooLong <= TIMES_TOO_LONG
    },
  }
}

function answered(state: State, message: AssistantMessage, promptTokens: number): void {
  const { messages } = state
  state.density = Math.min(MOST_DENSITY, Math.max(1, promptTokens / (FIXED_TOKENS + tokensOf(messages))))
  state.known = { tokens: promptTokens, counted: messages.length }
  state.timesTooLong = 0
  messages.push(message)
}

function makeRoom(state: State): Cut | undefined {
  const { messages, mustShorten } = state
  const window = windowOf(state)
  if (!mustShorten && reckoned(state) <= window.full) return undefined
  const short = withoutOldOutputs(messages)
  if (tokensOf(short) <= Math.min(window.full, tokensOf(messages)) * WORTHWHILE) return become(state, short)
  const cut = cutFor(messages, window)
  if (cut.replaced.some(({ role }) => role === 'assistant')) return cut
  return become(state, fitted(messages, window.full))
}

function become(state: State, messages: AgentMessage[]): undefined {
  state.messages = messages
  state.known = undefined
  state.mustShorten = false
}

function windowOf({ model, answerTokens, density, mostTokens }: State): Window {
  const { full, ...rest } = divided(model.contextWindow, answerTokens, FIXED_TOKENS)
  return { ...rest, full: Math.min(mostTokens, Math.floor(full / density)) }
}

/** Tokens of the messages, as we reckon them. */
function reckoned({ messages, known, density }: State): number {
  if (known === undefined) return tokensOf(messages)
  return Math.max(0, known.tokens / density - FIXED_TOKENS) + tokensOf(messages.slice(known.counted))
}

function answerTokensOf({ contextWindow, maxOutputTokens = MAX_ANSWER_TOKENS }: LoopModel): number {
  return Math.floor(Math.min(maxOutputTokens, MAX_ANSWER_TOKENS, contextWindow * ANSWER_PART_OF_WINDOW))
}
