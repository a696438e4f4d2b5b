/**
 * Compaction of a conversation, so that it fits the context window: first old tool results are truncated, then all but the
 * last steps is replaced by a summary that the model writes. Users' messages are kept verbatim as far as they fit. Pure;
 * runs on the worker thread, because it takes several passes over a transcript of megabytes.
 */
import { isRecord, parseJson } from '../../lib/json.ts'
import { bounded, byteLength, plainText } from '../plain-text.ts'
import type { AgentMessage, ModelRequest, ToolCallMessage, UserMessage } from '../ports.ts'
import { FULL_PART_OF_WINDOW } from './limits.ts'
import { isNudge, SUMMARY_PROMPT, summaryRequest } from './prompt.ts'

/** A token rarely has fewer than three bytes, so estimates are rarely too low. */
export const BYTES_OF_TOKEN = 3
/** Size without old tool results, relative to now, up to which no summary is needed. */
const TRUNCATION_SUFFICES = 0.7
/** Share of the window that a conversation may take after a summary. */
const SHARE_AFTER_SUMMARY = 0.9

/** A conversation and its estimated size. */
export interface SizedConversation {
  readonly messages: readonly AgentMessage[]
  readonly tokens: number
}

export type CompactionPlan =
  | { readonly kind: 'truncated'; readonly conversation: SizedConversation }
  | {
      readonly kind: 'summary'
      /** Number of messages that the summary replaces. */
      readonly replaced: number
      /** Answers of the model among the other messages. */
      readonly kept: number
      /** Asks the model for the summary. */
      readonly request: ModelRequest
    }

/** Truncates a conversation that exceeds its budget, or plans a summary where that is not enough. */
export function planCompaction(messages: readonly AgentMessage[], window: WindowBudget): CompactionPlan {
  const short = sized(withoutOldOutputs(messages))
  if (short.tokens <= Math.min(window.full, tokensOf(messages)) * TRUNCATION_SUFFICES) {
    return { kind: 'truncated', conversation: short }
  }
  const cut = selectCut(messages, window)
  if (!cut.replaced.some(({ role }) => role === 'assistant')) {
    return { kind: 'truncated', conversation: sized(fitMessages(messages, window.full)) }
  }
  return { kind: 'summary', replaced: cut.replaced.length, kept: cut.kept, request: summaryRequestOf(cut, window) }
}

export interface SummaryInput {
  readonly messages: readonly AgentMessage[]
  /** Number of messages that the summary replaces. */
  readonly replaced: number
  /** The model's summary; '' when there is none. */
  readonly notes: string
  readonly window: WindowBudget
}

/** Replaces messages by a summary, and truncates the result to the budget. */
export function applySummary({ messages, replaced, notes, window }: SummaryInput): {
  readonly summary: UserMessage
  readonly conversation: SizedConversation
} {
  const cut = { replaced: messages.slice(0, replaced), tail: messages.slice(replaced) }
  const summary = summaryOf(cut, notes, window)
  return { summary, conversation: sized(compactedMessages(summary, cut, window)) }
}

function sized(messages: readonly AgentMessage[]): SizedConversation {
  return { messages, tokens: tokensOf(messages) }
}

const TOKENS_OF_MESSAGE = 8
/** Last steps whose tool results are truncated last. */
const FRESH_STEPS = 2
/** Sizes in bytes that texts are truncated to, in turn. */
const CAPS = [4_000, 1_500, 500, 160]
/** Fits every window. */
const LAST_CAP = 48

export function tokensOfText(text: string): number {
  return Math.ceil(byteLength(text) / BYTES_OF_TOKEN)
}

export function tokensOfMessage(message: AgentMessage): number {
  const calls = message.role === 'assistant' && message.tool_calls ? JSON.stringify(message.tool_calls) : ''
  return tokensOfText(message.content ?? '') + tokensOfText(calls) + TOKENS_OF_MESSAGE
}

export function tokensOf(messages: readonly AgentMessage[]): number {
  return messages.reduce((sum, message) => sum + tokensOfMessage(message), 0)
}

/** Truncates the tool results of all but the last steps. */
export function withoutOldOutputs(messages: readonly AgentMessage[]): AgentMessage[] {
  const fresh = startOfLastSteps(messages, FRESH_STEPS)
  return messages.map((message, at) => (at < fresh && message.role === 'tool' ? shortened(message, 500) : message))
}

/**
 * Truncates messages to `maxTokens` together: old tool results first, then the model's old texts, then all tool results,
 * users' texts last. Where that is not enough, the result is as short as possible.
 */
export function fitMessages(messages: readonly AgentMessage[], maxTokens: number): AgentMessage[] {
  let fit = [...messages]
  const fresh = startOfLastSteps(messages, 1)
  const mayCut: ((message: AgentMessage, at: number) => boolean)[] = [
    ({ role }, at) => role === 'tool' && at < fresh,
    ({ role }, at) => role !== 'user' && at < fresh,
    ({ role }) => role !== 'user',
    (_message, at) => at < messages.length - 1,
    () => true,
  ]
  for (const may of mayCut) {
    for (const cap of [...CAPS, LAST_CAP]) {
      if (tokensOf(fit) <= maxTokens) return fit
      fit = fit.map((message, at) => (may(message, at) ? shortened(message, cap) : message))
    }
  }
  return fit
}

/** Index of the message that begins the last `steps` answers of the model. */
function startOfLastSteps(messages: readonly AgentMessage[], steps: number): number {
  let left = steps
  let at = messages.length
  while (at > 0 && left > 0) {
    at -= 1
    if (messages[at]?.role === 'assistant') left -= 1
  }
  return at
}

function shortened(message: AgentMessage, maxBytes: number): AgentMessage {
  if (message.role !== 'assistant') return { ...message, content: bounded(message.content, maxBytes).text }
  const content = message.content === null ? null : bounded(message.content, maxBytes).text
  if (message.tool_calls === undefined) return { role: 'assistant', content }
  return { role: 'assistant', content, tool_calls: message.tool_calls.map((call) => shortenedCall(call, maxBytes)) }
}

/** Truncates texts within the arguments, which stay JSON. */
function shortenedCall(call: ToolCallMessage, maxBytes: number): ToolCallMessage {
  const { name, arguments: json } = call.function
  if (byteLength(json) <= maxBytes) return call
  const fields = parseJson(json)
  const cut = Object.entries(isRecord(fields) ? fields : {})
    .slice(0, 8)
    .map(([field, value]) => [
      field.slice(0, 40),
      typeof value === 'string' ? bounded(value, Math.floor(maxBytes / 2)).text : '…',
    ])
  return { ...call, function: { name, arguments: JSON.stringify(Object.fromEntries(cut)) } }
}

/** Messages to summarise, and those that stay. */
interface Cut {
  readonly replaced: readonly AgentMessage[]
  readonly tail: readonly AgentMessage[]
  /** Answers of the model in `tail`. */
  readonly kept: number
}

const TAIL_STEPS = 3
/** Shares of the message budget: the last steps, the users' words, the summary. */
const TAIL_SHARE = 1 / 4
const WORDS_SHARE = 1 / 4
const NOTES_SHARE = 1 / 3
/** Share of the window that the model may use to write a summary. */
const SUMMARY_ANSWER_SHARE = 1 / 8
const SUMMARY_TOKENS = 4_096

const HEAD = 'The conversation before this has been replaced by a summary, because it became too long.'
const WORDS_HEAD = '\n\nWhat the user wrote, word for word:\n<user-messages>\n'
const WORDS_END = '\n</user-messages>'
const NOTES_HEAD = '\n\nYour notes of what has been done:\n'

/** The division of the context window, in tokens. */
export interface WindowBudget {
  readonly answer: number
  /** Of the messages; beyond it they are compacted. */
  readonly full: number
  readonly notes: number
}

/** @param fixed Tokens of the system prompt and the tools. */
export function windowBudget(contextWindow: number, answer: number, fixed: number): WindowBudget {
  const full = Math.floor((contextWindow - answer) * FULL_PART_OF_WINDOW) - fixed
  return { answer, full, notes: Math.floor(Math.min(SUMMARY_TOKENS, contextWindow * SUMMARY_ANSWER_SHARE, answer)) }
}

/** Keeps the last steps, fewer if they are large, but at least one. */
export function selectCut(messages: readonly AgentMessage[], { full }: WindowBudget): Cut {
  for (let steps = TAIL_STEPS; steps >= 1; steps--) {
    const at = startOfLastSteps(messages, steps)
    const tail = messages.slice(at)
    if (steps > 1 && (at === 0 || tokensOf(tail) > full * TAIL_SHARE)) continue
    return { replaced: messages.slice(0, at), tail, kept: tail.filter(({ role }) => role === 'assistant').length }
  }
  return { replaced: [], tail: messages, kept: 0 }
}

/** Renders calls and results as text: not every provider accepts them in a request without tools. */
export function summaryRequestOf({ replaced }: Cut, window: WindowBudget): ModelRequest {
  const request: AgentMessage = { role: 'user', content: summaryRequest(Math.floor(window.notes / 2)) }
  const messages = fittedTexts(replaced, window.full - tokensOf([request]) - tokensOfText(SUMMARY_PROMPT))
  return {
    messages: [{ role: 'system', content: SUMMARY_PROMPT }, ...messages, request],
    tools: [],
    maxTokens: window.notes,
  }
}

/** Truncates before rendering as text, so that tool results shrink before words. */
function fittedTexts(messages: readonly AgentMessage[], maxTokens: number): AgentMessage[] {
  for (let most = maxTokens; most > maxTokens / 10; most *= 0.75) {
    const texts = fitMessages(messages, most).map(asText)
    if (tokensOf(texts) <= maxTokens) return texts
  }
  return fitMessages(messages.map(asText), maxTokens)
}

function asText(message: AgentMessage): AgentMessage {
  if (message.role === 'user') return message
  if (message.role === 'tool') return { role: 'user', content: `Output of a tool:\n${quoted(message.content)}` }
  const calls = (message.tool_calls ?? []).map(({ function: called }) => `[called ${called.name} ${called.arguments}]`)
  const text = [message.content ?? '', ...calls].filter((part) => part !== '').join('\n')
  return { role: 'assistant', content: text }
}

function quoted(text: string): string {
  return text.replace(/^/gm, '> ')
}

/** @param notes The model's summary; '' when there is none: then the calls are listed. */
export function summaryOf({ replaced, tail }: Omit<Cut, 'kept'>, notes: string, { full }: WindowBudget): UserMessage {
  const words = bounded(
    wordsIn([...replaced, ...firstStep(tail)]),
    Math.floor(full * WORDS_SHARE) * BYTES_OF_TOKEN,
  ).text
  const text = plainText(notes).trim()
  const notesText = bounded(
    text === '' ? callsIn(replaced) : text,
    Math.floor(full * NOTES_SHARE) * BYTES_OF_TOKEN,
  ).text
  return {
    role: 'user',
    content: `${HEAD}${WORDS_HEAD}${words.replaceAll(WORDS_END, '')}${WORDS_END}${NOTES_HEAD}${notesText}`,
  }
}

/** A store may have users' messages of the first kept step before that step. */
function firstStep(tail: readonly AgentMessage[]): readonly AgentMessage[] {
  const next = tail.findIndex(({ role }, at) => at > 0 && role === 'assistant')
  return next < 0 ? tail : tail.slice(0, next)
}

/** Includes the words that an earlier summary kept. */
function wordsIn(messages: readonly AgentMessage[]): string {
  return messages
    .flatMap((message) => (message.role === 'user' ? [keptWords(message.content)] : []))
    .filter((words) => words !== '' && !isNudge(words))
    .join('\n\n')
}

function keptWords(content: string): string {
  if (!content.startsWith(HEAD + WORDS_HEAD)) return content
  return content.slice(HEAD.length + WORDS_HEAD.length, content.indexOf(WORDS_END))
}

function callsIn(messages: readonly AgentMessage[]): string {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
  return calls.map((call) => `- ${call.function.name} ${bounded(call.function.arguments, 200).text}`).join('\n')
}

export function compactedMessages(
  summary: UserMessage,
  { tail }: Pick<Cut, 'tail'>,
  { full }: WindowBudget,
): AgentMessage[] {
  return fitMessages([summary, ...tail], Math.floor(full * SHARE_AFTER_SUMMARY))
}
