/**
 * The parts of the wire that we read, checked by hand. What is not what it should be reads as absent, unless the answer
 * would lose something by it.
 *
 * Source: https://ai.google.dev/api/generate-content, and the recorded answers of both hosts.
 */
import { createHash } from 'node:crypto'
import type { FinishReason } from '../../domain/chat.ts'
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import { brokenAnswer } from '../broken-answer.ts'

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  LANGUAGE: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
  MODEL_ARMOR: 'content_filter',
}

/** Words in the place of a finish reason that say that the model came to nothing, unless there is output already. */
const BREAKDOWNS: readonly string[] = [
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
  'NO_IMAGE',
  'IMAGE_OTHER',
]

/** The numbers that both hosts give the same words, for answers with enumerations encoded as numbers. */
const NUMBERED_REASONS: readonly string[] = [
  'FINISH_REASON_UNSPECIFIED',
  'STOP',
  'MAX_TOKENS',
  'SAFETY',
  'RECITATION',
  'OTHER',
]

/** The finish reason's word; '' when unsaid. */
export function finishWord(value: unknown): string {
  return typeof value === 'number' ? (NUMBERED_REASONS[value] ?? String(value)) : textOf(value)
}

/** @param word A finish reason. @returns whether it says that there is no answer. */
export function isBreakdown(word: string): boolean {
  return BREAKDOWNS.includes(word)
}

/** The enumeration grows, so an unknown word is `stop`. A choice with tool calls never just stopped. */
export function parseFinish(word: string, calledTools: boolean): FinishReason {
  const reason = Object.hasOwn(FINISH_REASONS, word) ? FINISH_REASONS[word] : undefined
  return calledTools && (reason === undefined || reason === 'stop') ? 'tool_calls' : (reason ?? 'stop')
}

/** Why the prompt was refused before anything was generated; '' when it was not. */
export function blockReason(answer: Json): string {
  const { promptFeedback: feedback } = answer
  if (!isRecord(feedback)) return ''
  const { blockReason: reason } = feedback
  return typeof reason === 'number' ? `BLOCK_REASON_${reason}` : textOf(reason)
}

/** JSON text of a call's arguments, which are an object or absent. */
export function argumentsText(args: unknown): string {
  if (args === undefined || args === null) return '{}'
  if (!isRecord(args)) throw brokenAnswer('The provider called a tool with arguments that are no object.')
  try {
    return JSON.stringify(args)
  } catch (error) {
    throw brokenAnswer('The provider called a tool with arguments that are nested too deeply.', error)
  }
}

/** Where a call is: together with the answer it names the call. */
export interface CallPlace {
  /** Of the choice. */
  readonly index: number
  readonly toolIndex: number
}

/**
 * For calls without an id, which is most of them. At most 40 characters, which is what the strictest host takes.
 * @param answer What no other answer of the conversation has: its id, or all that it says.
 */
export function madeUpCallId(answer: string, { index, toolIndex }: CallPlace): string {
  const clean = answer.replace(/[^A-Za-z0-9_-]/g, '')
  const name = clean === answer && answer.length <= 24 ? answer : digest(answer)
  return `call_${name}_${index}_${toolIndex}`
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 24)
}
