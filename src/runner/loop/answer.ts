/** What a model answered, made fit for being given back to it and to others: bounded, plain, its calls whole. */

import type { ModelAnswer, ToolCallMessage } from '../ports.ts'
import { readArguments } from './arguments.ts'
import { MAX_ARGUMENT_BYTES, MAX_CALLS, MAX_TEXT_BYTES } from './limits.ts'
import type { AssistantMessage } from './loop.ts'
import { byteLength, plainText, tidy } from './plain-text.ts'
import type { CallToRun } from './run-tool.ts'
import { toolNamed } from './tool-definitions.ts'

export interface ReadAnswer {
  /** Undefined when there is nothing in it. */
  readonly message: AssistantMessage | undefined
  readonly text: string
  readonly calls: readonly ReadCall[]
  /** Calls beyond `MAX_CALLS`. */
  readonly dropped: number
  readonly finishReason: string
}

export interface ReadCall {
  /** As the message has it. */
  readonly kept: ToolCallMessage
  readonly toRun: CallToRun
}

/** @param taken IDs of calls that the conversation has; those of this answer are added. */
export function readAnswer(answer: ModelAnswer, taken: Set<string>): ReadAnswer {
  const text = tidy(answer.message.content ?? '', MAX_TEXT_BYTES).trim()
  const given = answer.message.tool_calls ?? []
  const calls = given.slice(0, MAX_CALLS).map((call, at): ReadCall => {
    const isLast = at === given.length - 1
    return readCall(call, {
      id: freshId(call.id, taken, `${at}_${answer.completionId}`),
      isCut: isLast && isCut(answer),
    })
  })
  return {
    message: messageOf(text, calls),
    text,
    calls,
    dropped: given.length - calls.length,
    finishReason: answer.finishReason,
  }
}

function isCut({ finishReason }: ModelAnswer): boolean {
  return finishReason === 'length'
}

function messageOf(text: string, calls: readonly ReadCall[]): AssistantMessage | undefined {
  const content = text === '' ? null : text
  if (calls.length > 0) return { role: 'assistant', content, tool_calls: calls.map(({ kept }) => kept) }
  return content === null ? undefined : { role: 'assistant', content }
}

/**
 * Providers take back only what is an object of JSON, under a name of letters and digits: what a model wrote otherwise is
 * kept as text within one.
 */
function readCall(call: ToolCallMessage, { id, isCut }: { id: string; isCut: boolean }): ReadCall {
  const { name, arguments: json } = call.function
  const isTooLong = byteLength(json) > MAX_ARGUMENT_BYTES
  const fields = isTooLong ? undefined : readArguments(json)
  const arguments_ = fields === undefined ? { unreadable: tidy(json, 500) } : plainFields(fields)
  return {
    kept: {
      id,
      type: 'function',
      function: { name: toolNamed(name) ?? nameLike(name), arguments: JSON.stringify(arguments_) },
    },
    toRun: { name, arguments: json, isCut: isCut && fields === undefined, isTooLong },
  }
}

function plainFields(value: unknown): unknown {
  if (typeof value === 'string') return plainText(value)
  if (Array.isArray(value)) return value.map(plainFields)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [plainText(name), plainFields(each)]))
}

function nameLike(name: string): string {
  const like = name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, 64)
  return like === '' ? 'unknown' : like
}

/** Models repeat ids, or give none; results are told apart by them. */
function freshId(id: string, taken: Set<string>, otherwise: string): string {
  const isFit = /^[\x21-\x7e]{1,256}$/.test(id) && !taken.has(id)
  const fresh = isFit ? id : `call_${otherwise.replace(/[^a-zA-Z0-9_-]/g, '')}`.slice(0, 64)
  taken.add(fresh)
  return fresh
}
