/** Rules of one choice that hold for whole answers and for streams alike. */
import type { FinishReason } from '../../../domain/chat.ts'
import { isObject, type JsonObject } from './checks.ts'

/** Fields of a message that events of their own fill; `__proto__` is nobody's. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'role',
  'content',
  'refusal',
  'reasoning_content',
  'tool_calls',
  'function_call',
  '__proto__',
])

/** Whether an extension may become a field of the message under this name. */
export function isExtensionField(field: string): boolean {
  return !OWN_FIELDS.has(field)
}

/** A choice that called tools did not just stop. */
export function finishReason(reason: FinishReason, hasToolCalls: boolean): FinishReason {
  return reason === 'stop' && hasToolCalls ? 'tool_calls' : reason
}

/**
 * Whether a call without any argument text stands for one without arguments, `{}`. Not when the answer was cut off:
 * there the text is missing, and a client must not take the call for a whole one.
 */
export function emptyArgumentsAreWhole(reason: FinishReason | undefined): boolean {
  return reason === 'stop' || reason === 'tool_calls'
}

/** The wire's `logprobs`, both lists present or null. */
export interface Logprobs {
  content: unknown[] | null
  refusal: unknown[] | null
}

/** @returns undefined when there is nothing of the expected shape. Every entry gets the `top_logprobs` clients expect. */
export function readLogprobs(value: unknown): Logprobs | undefined {
  if (!isObject(value)) return undefined
  const content = entriesOf(value['content'])
  const refusal = entriesOf(value['refusal'])
  return content === null && refusal === null ? undefined : { content, refusal }
}

export function mergeLogprobs(merged: Logprobs | undefined, value: unknown): Logprobs | undefined {
  const added = readLogprobs(value)
  if (added === undefined || merged === undefined) return added ?? merged
  return { content: concatenated(merged.content, added.content), refusal: concatenated(merged.refusal, added.refusal) }
}

function entriesOf(list: unknown): unknown[] | null {
  return Array.isArray(list) ? list.map((entry) => (isObject(entry) ? withTop(entry) : entry)) : null
}

function withTop(entry: JsonObject): JsonObject {
  return Array.isArray(entry['top_logprobs']) ? entry : { ...entry, top_logprobs: [] }
}

/** Appends in place, since a long answer has an entry for each of its tokens. */
function concatenated(list: unknown[] | null, added: unknown[] | null): unknown[] | null {
  if (list === null || added === null) return list ?? added
  for (const entry of added) list.push(entry)
  return list
}
