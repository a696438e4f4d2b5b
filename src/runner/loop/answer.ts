/** Parses a model's answer into what is stored and returned to the model: bounded plain text, and valid calls. */

import { byteLength, plainText, tidy } from '../plain-text.ts'
import type { AssistantMessage, ModelAnswer, ToolCallMessage } from '../ports.ts'
import { MAX_ARGUMENT_BYTES, MAX_CALLS, MAX_TEXT_BYTES } from './limits.ts'
import { toolNamed } from './prompt.ts'
import { parseArguments } from './tool.ts'

export interface ParsedAnswer {
  /** Undefined when the answer is empty. */
  readonly message: AssistantMessage | undefined
  readonly text: string
  readonly calls: readonly ParsedCall[]
  /** Calls beyond `MAX_CALLS`. */
  readonly dropped: number
  readonly finishReason: string
}

export interface ParsedCall {
  /** As the conversation has it. */
  readonly message: ToolCallMessage
  readonly requested: RequestedCall
}

export interface RequestedCall {
  /** As the model wrote them. */
  readonly name: string
  readonly arguments: string
  /** Whether the answer ended within the arguments, at its length limit. */
  readonly isCut: boolean
  /** Whether the arguments exceed `MAX_ARGUMENT_BYTES`. */
  readonly isTooLong: boolean
}

/** @param usedIds IDs of the conversation's calls; those of this answer are added. */
export function parseAnswer(answer: ModelAnswer, usedIds: Set<string>): ParsedAnswer {
  const text = tidy(answer.message.content ?? '', MAX_TEXT_BYTES).trim()
  const given = answer.message.tool_calls ?? []
  const calls = given.slice(0, MAX_CALLS).map((call, at): ParsedCall => {
    const isLast = at === given.length - 1
    return parseCall(call, {
      id: uniqueId(call.id, usedIds, `${at}_${answer.completionId}`),
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

function messageOf(text: string, calls: readonly ParsedCall[]): AssistantMessage | undefined {
  const content = text === '' ? null : text
  if (calls.length > 0) return { role: 'assistant', content, tool_calls: calls.map(({ message }) => message) }
  return content === null ? undefined : { role: 'assistant', content }
}

/** Providers accept only JSON objects and names of letters and digits: anything else becomes text within an object. */
function parseCall(call: ToolCallMessage, { id, isCut }: { id: string; isCut: boolean }): ParsedCall {
  const { name, arguments: json } = call.function
  const isTooLong = byteLength(json) > MAX_ARGUMENT_BYTES
  const fields = isTooLong ? undefined : parseArguments(json)
  const arguments_ = fields === undefined ? { unreadable: tidy(json, 500) } : plainFields(fields)
  return {
    message: {
      id,
      type: 'function',
      function: { name: toolNamed(name) ?? sanitizedName(name), arguments: JSON.stringify(arguments_) },
    },
    requested: { name, arguments: json, isCut: isCut && fields === undefined, isTooLong },
  }
}

function plainFields(value: unknown): unknown {
  if (typeof value === 'string') return plainText(value)
  if (Array.isArray(value)) return value.map(plainFields)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [plainText(name), plainFields(each)]))
}

function sanitizedName(name: string): string {
  const clean = name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, 64)
  return clean === '' ? 'unknown' : clean
}

/** Replaces IDs that are missing, repeated or not printable: results refer to them. */
function uniqueId(id: string, usedIds: Set<string>, fallback: string): string {
  const isValid = /^[\x21-\x7e]{1,256}$/.test(id) && !usedIds.has(id)
  const unique = isValid ? id : `call_${fallback.replace(/[^a-zA-Z0-9_-]/g, '')}`.slice(0, 64)
  usedIds.add(unique)
  return unique
}
