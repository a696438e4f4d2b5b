/**
 * Makes a conversation shorter before the model's window is full: first old outputs go, then everything but the last steps
 * is replaced by the model's own notes. What the users wrote stays word for word, as far as it fits.
 */
import type { AgentMessage } from '../ports.ts'
import { FULL_PART_OF_WINDOW } from './limits.ts'
import type { UserMessage } from './loop.ts'
import { bounded, plainText } from './plain-text.ts'
import { isNudge, SUMMARY_PROMPT, summaryRequest } from './prompt.ts'
import { BYTES_OF_TOKEN, fitted, startOfLastSteps, tokensOf, tokensOfText } from './shorten.ts'

/** What is to be replaced, and what stays as it is. */
export interface Cut {
  readonly replaced: readonly AgentMessage[]
  readonly tail: readonly AgentMessage[]
  /** Answers of the model in `tail`. */
  readonly kept: number
}

const TAIL_STEPS = 3
/** Parts of what the messages may take: the last steps, the user's words, the notes. */
const TAIL_PART = 1 / 4
const WORDS_PART = 1 / 4
const TOLD_PART = 1 / 3
/** Of the window, of one answer. */
const NOTES_PART = 1 / 8
const MOST_NOTES_TOKENS = 4_096

const HEAD = 'The conversation before this has been replaced by a summary, because it became too long.'
const WORDS_HEAD = '\n\nWhat the user wrote, word for word:\n<user-messages>\n'
const WORDS_END = '\n</user-messages>'
const NOTES_HEAD = '\n\nYour notes of what has been done:\n'

/** How the window is divided. In tokens. */
export interface Window {
  readonly answer: number
  /** Of the messages; from here on they are made shorter. */
  readonly full: number
  readonly notes: number
}

/** @param fixed Tokens of what goes with every call: the system's prompt and the tools. */
export function divided(contextWindow: number, answer: number, fixed: number): Window {
  const full = Math.floor((contextWindow - answer) * FULL_PART_OF_WINDOW) - fixed
  return { answer, full, notes: Math.floor(Math.min(MOST_NOTES_TOKENS, contextWindow * NOTES_PART, answer)) }
}

/** The last steps stay, fewer of them if they are large, but always one. */
export function cutFor(messages: readonly AgentMessage[], { full }: Window): Cut {
  for (let steps = TAIL_STEPS; steps >= 1; steps--) {
    const at = startOfLastSteps(messages, steps)
    const tail = messages.slice(at)
    if (steps > 1 && (at === 0 || tokensOf(tail) > full * TAIL_PART)) continue
    return { replaced: messages.slice(0, at), tail, kept: tail.filter(({ role }) => role === 'assistant').length }
  }
  return { replaced: [], tail: messages, kept: 0 }
}

/** Asks for the notes. Without calls and results in their own form: not every provider takes those without tools. */
export function notesRequest({ replaced }: Cut, window: Window) {
  const request: AgentMessage = { role: 'user', content: summaryRequest(Math.floor(window.notes / 2)) }
  const messages = fittedTexts(replaced, window.full - tokensOf([request]) - tokensOfText(SUMMARY_PROMPT))
  return {
    messages: [{ role: 'system' as const, content: SUMMARY_PROMPT }, ...messages, request],
    tools: [],
    maxTokens: window.notes,
  }
}

/** Shortened as what they are, outputs before words; as text they are somewhat longer. */
function fittedTexts(messages: readonly AgentMessage[], maxTokens: number): AgentMessage[] {
  for (let most = maxTokens; most > maxTokens / 10; most *= 0.75) {
    const texts = fitted(messages, most).map(asText)
    if (tokensOf(texts) <= maxTokens) return texts
  }
  return fitted(messages.map(asText), maxTokens)
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

/** @param notes The model's; '' where it gave none: then it is told what it called. */
export function summaryOf({ replaced, tail }: Cut, notes: string, { full }: Window): UserMessage {
  const words = bounded(wordsIn([...replaced, ...firstStep(tail)]), Math.floor(full * WORDS_PART) * BYTES_OF_TOKEN).text
  const text = plainText(notes).trim()
  const told = bounded(text === '' ? callsIn(replaced) : text, Math.floor(full * TOLD_PART) * BYTES_OF_TOKEN).text
  return {
    role: 'user',
    content: `${HEAD}${WORDS_HEAD}${words.replaceAll(WORDS_END, '')}${WORDS_END}${NOTES_HEAD}${told}`,
  }
}

/** Whoever keeps the conversation may have what the user wrote during the first step that stays before that step. */
function firstStep(tail: readonly AgentMessage[]): readonly AgentMessage[] {
  const next = tail.findIndex(({ role }, at) => at > 0 && role === 'assistant')
  return next < 0 ? tail : tail.slice(0, next)
}

/** An earlier summary hands on the words that it kept. */
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

/** What the loop goes on with, in what the window has. */
export function compacted(summary: UserMessage, { tail }: Cut, window: Window): AgentMessage[] {
  return fitted([summary, ...tail], Math.floor(window.full * 0.9))
}
