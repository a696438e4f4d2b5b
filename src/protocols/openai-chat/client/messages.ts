/** The conversation: each message's role, and what that role may and must carry. */
import type { ChatMessage, Role, ToolCall } from '../../../domain/chat.ts'
import {
  arrayAt,
  isAbsent,
  type JsonObject,
  objectAt,
  oneOf,
  refuse,
  refuseType,
  stringAt,
  withoutNulls,
} from './checks.ts'
import { checkContentParts } from './content.ts'
import { modernMessages } from './legacy.ts'
import { toolTypeAt } from './tools.ts'

const ROLES: readonly Role[] = ['system', 'developer', 'user', 'assistant', 'tool']
/** Fields that the official SDKs write as null, or as an empty list, when they send an answer back. */
const EMPTY_MEANS_ABSENT = ['name', 'tool_calls', 'tool_call_id', 'function_call', 'audio', 'annotations']

/** The messages, in the client's own array and objects unless something in them had to be replaced. */
export function readMessages(value: unknown): readonly ChatMessage[] {
  const messages = modernMessages(arrayAt(value, 'messages'))
  if (messages.length === 0) refuse('invalid_value', 'messages', '`messages` must have at least one message.')
  let replaced: unknown[] | undefined
  for (let at = 0; at < messages.length; at++) {
    const message = readMessage(messages[at], `messages[${at}]`)
    if (message === messages[at]) continue
    replaced ??= messages.slice()
    replaced[at] = message
  }
  return (replaced ?? messages) as readonly ChatMessage[]
}

function readMessage(value: unknown, place: string): JsonObject {
  const message = withoutEmpties(objectAt(value, place))
  const role = oneOf(message['role'], `${place}.role`, ROLES)
  if (message['name'] !== undefined) stringAt(message['name'], `${place}.name`)
  if (role === 'assistant') {
    checkAssistant(message, place)
    return withPlainCalls(message)
  } else {
    if (role === 'tool') stringAt(message['tool_call_id'], `${place}.tool_call_id`)
    checkContent(message['content'], `${place}.content`, role)
  }
  return message
}

function withoutEmpties(message: JsonObject): JsonObject {
  const calls = message['tool_calls']
  if (Array.isArray(calls) && calls.length === 0) return withoutEmpties({ ...message, tool_calls: null })
  for (const name in message) {
    if (message[name] === null) return withoutNulls(message, EMPTY_MEANS_ABSENT)
  }
  return message
}

function checkContent(content: unknown, param: string, role: Role): void {
  if (typeof content === 'string') return
  if (!Array.isArray(content)) refuseType(content, param, 'a string or an array of content parts')
  if (content.length === 0) refuse('invalid_value', param, `\`${param}\` must not be an empty array.`)
  checkContentParts(content, param, role)
}

/** An assistant may have said nothing if it called a tool, refused, spoke, or only reasoned. */
function checkAssistant(message: JsonObject, place: string): void {
  const { content, tool_calls: calls } = message
  if (calls !== undefined) checkToolCalls(calls, `${place}.tool_calls`)
  for (const name of ['refusal', 'reasoning_content']) {
    if (!isAbsent(message[name])) stringAt(message[name], `${place}.${name}`)
  }
  if (!isAbsent(content) && typeof content !== 'string' && !Array.isArray(content)) {
    refuseType(content, `${place}.content`, 'a string, an array of content parts or null')
  }
  if (Array.isArray(content)) checkContentParts(content, `${place}.content`, 'assistant')
  if (typeof content === 'string' || (content?.length ?? 0) > 0) return
  if (calls !== undefined || ['refusal', 'reasoning_content', 'audio'].some((name) => !isAbsent(message[name]))) return
  refuse('missing_field', `${place}.content`, `\`${place}\` has neither \`content\` nor \`tool_calls\`.`)
}

function checkToolCalls(value: unknown, place: string): void {
  arrayAt(value, place).forEach((entry, at) => {
    const call = objectAt(entry, `${place}[${at}]`)
    stringAt(call['id'], `${place}[${at}].id`)
    const type = toolTypeAt(call, `${place}[${at}]`)
    const called = objectAt(call[type], `${place}[${at}].${type}`)
    stringAt(called['name'], `${place}[${at}].${type}.name`)
    const input = type === 'custom' ? 'input' : 'arguments'
    stringAt(called[input], `${place}[${at}].${type}.${input}`)
  })
}

/** Calls of custom tools in the form of the others, marked: `input` becomes `arguments`. */
function withPlainCalls(message: JsonObject): JsonObject {
  const { tool_calls: calls } = message
  if (!Array.isArray(calls) || !calls.some(isCustomCall)) return message
  return { ...message, tool_calls: calls.map((call) => (isCustomCall(call) ? plainCall(call) : call)) }
}

interface CustomCall {
  readonly id: string
  readonly custom: { readonly name: string; readonly input: string }
}

/** Of a call that has been checked. */
function isCustomCall(call: JsonObject | CustomCall): call is CustomCall {
  return 'type' in call && call.type === 'custom'
}

function plainCall({ id, custom: { name, input } }: CustomCall): ToolCall {
  return { id, type: 'function', function: { name, arguments: input }, custom: true }
}
