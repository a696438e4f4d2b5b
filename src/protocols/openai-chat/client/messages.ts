/**
 * Validates the conversation: each message's role, and what that role may and must contain. Messages from before tool
 * calls had IDs become tool calls: an assistant's `function_call`, and its result under the role `function`, which
 * names only the function.
 */

import type { ChatMessage, ContentPart, Role, ToolCall } from '../../../domain/chat.ts'
import { isRecord, type Json } from '../../../lib/json.ts'
import { arrayAt, isAbsent, objectAt, oneOf, refuse, refuseType, stringAt, withoutNulls } from './checks.ts'
import { toolTypeAt } from './tools.ts'

const ROLES: readonly Role[] = ['system', 'developer', 'user', 'assistant', 'tool']
/** Fields that the official SDKs send as null or as an empty list when they return an answer. */
const EMPTY_MEANS_ABSENT = ['name', 'tool_calls', 'tool_call_id', 'function_call', 'audio', 'annotations']

/** The images in all messages together. */
export const MAX_IMAGES = 500

/** Returns the messages, in the client's own array and objects unless something had to be replaced. */
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
  checkImages(messages)
  return (replaced ?? messages) as readonly ChatMessage[]
}

/** @param messages With checked parts. */
function checkImages(messages: readonly unknown[]): void {
  let images = 0
  for (const { content } of messages as readonly Pick<ChatMessage, 'content'>[]) {
    if (!Array.isArray(content)) continue
    for (const { type } of content) if (type === 'image_url') images += 1
  }
  if (images <= MAX_IMAGES) return
  refuse('out_of_range', 'messages', `\`messages\` must have at most ${MAX_IMAGES} images, not ${images}.`)
}

function readMessage(value: unknown, path: string): Json {
  const message = withoutEmpties(objectAt(value, path))
  const role = oneOf(message['role'], `${path}.role`, ROLES)
  if (message['name'] !== undefined) stringAt(message['name'], `${path}.name`)
  if (role === 'assistant') {
    checkAssistant(message, path)
    return withPlainCalls(message)
  } else {
    if (role === 'tool') stringAt(message['tool_call_id'], `${path}.tool_call_id`)
    checkContent(message['content'], `${path}.content`, role)
  }
  return message
}

function withoutEmpties(message: Json): Json {
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

/** An assistant's content may be absent if it called a tool, refused, spoke, or only reasoned. */
function checkAssistant(message: Json, path: string): void {
  const { content, tool_calls: calls } = message
  if (calls !== undefined) checkToolCalls(calls, `${path}.tool_calls`)
  for (const name of ['refusal', 'reasoning_content']) {
    if (!isAbsent(message[name])) stringAt(message[name], `${path}.${name}`)
  }
  if (!isAbsent(content) && typeof content !== 'string' && !Array.isArray(content)) {
    refuseType(content, `${path}.content`, 'a string, an array of content parts or null')
  }
  if (Array.isArray(content)) checkContentParts(content, `${path}.content`, 'assistant')
  if (typeof content === 'string' || (content?.length ?? 0) > 0) return
  if (calls !== undefined || ['refusal', 'reasoning_content', 'audio'].some((name) => !isAbsent(message[name]))) return
  refuse('missing_field', `${path}.content`, `\`${path}\` has neither \`content\` nor \`tool_calls\`.`)
}

function checkToolCalls(value: unknown, path: string): void {
  arrayAt(value, path).forEach((entry, at) => {
    const call = objectAt(entry, `${path}[${at}]`)
    stringAt(call['id'], `${path}[${at}].id`)
    const type = toolTypeAt(call, `${path}[${at}]`)
    const called = objectAt(call[type], `${path}[${at}].${type}`)
    stringAt(called['name'], `${path}[${at}].${type}.name`)
    const input = type === 'custom' ? 'input' : 'arguments'
    stringAt(called[input], `${path}[${at}].${type}.${input}`)
  })
}

/** Calls of custom tools in the form of the others, marked: `input` becomes `arguments`. */
function withPlainCalls(message: Json): Json {
  const { tool_calls: calls } = message
  if (!Array.isArray(calls) || !calls.some(isCustomCall)) return message
  return { ...message, tool_calls: calls.map((call) => (isCustomCall(call) ? plainCall(call) : call)) }
}

interface CustomCall {
  readonly id: string
  readonly custom: { readonly name: string; readonly input: string }
}

/** Returns whether a validated call is that of a custom tool. */
function isCustomCall(call: Json | CustomCall): call is CustomCall {
  return 'type' in call && call.type === 'custom'
}

function plainCall({ id, custom: { name, input } }: CustomCall): ToolCall {
  return { id, type: 'function', function: { name, arguments: input }, custom: true }
}

interface PendingCall {
  readonly id: string
  readonly name: string
}

/** Converts messages of the older form; returns the same array if there are none. Messages are validated elsewhere. */
function modernMessages(messages: readonly unknown[]): readonly unknown[] {
  if (!messages.some(isLegacy)) return messages
  let pending: PendingCall | undefined
  return messages.map((message, at) => {
    if (!isRecord(message) || !isLegacy(message)) return message
    if (message['role'] === 'function') return toolResult(message, pending, `messages[${at}]`)
    const { function_call: call, ...rest } = message
    if (!isAbsent(rest['tool_calls'])) {
      const param = `messages[${at}].function_call`
      refuse('invalid_value', param, `Send \`tool_calls\` or \`function_call\`, not both, in \`messages[${at}]\`.`)
    }
    const called = calledFunction(call, `messages[${at}].function_call`)
    pending = { id: `call_${at}`, name: called.name }
    return { ...rest, tool_calls: [{ id: pending.id, type: 'function', function: called }] }
  })
}

function isLegacy(message: unknown): boolean {
  if (!isRecord(message)) return false
  return message['role'] === 'function' || (message['role'] === 'assistant' && !isAbsent(message['function_call']))
}

function calledFunction(value: unknown, param: string): { name: string; arguments: string } {
  const call = objectAt(value, param)
  return { name: stringAt(call['name'], `${param}.name`), arguments: stringAt(call['arguments'], `${param}.arguments`) }
}

function toolResult(message: Json, pending: PendingCall | undefined, path: string): Json {
  const { name, ...rest } = message
  if (stringAt(name, `${path}.name`) !== pending?.name) {
    refuse('invalid_value', `${path}.name`, `\`${path}\` answers a function that no message before it has called.`)
  }
  return { ...rest, role: 'tool', tool_call_id: pending.id, content: message['content'] ?? '' }
}

type PartType = ContentPart['type']

const PARTS_OF_ROLE: Readonly<Record<Role, readonly PartType[]>> = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text', 'image_url', 'file'],
}
const CHECKS: Readonly<Record<PartType, (part: Json, path: string) => void>> = {
  text: (part, path) => void stringAt(part['text'], `${path}.text`),
  refusal: (part, path) => void stringAt(part['refusal'], `${path}.refusal`),
  image_url: checkImage,
  input_audio: checkAudio,
  file: checkFile,
}

/** @param path The path of the content itself. */
function checkContentParts(parts: readonly unknown[], path: string, role: Role): void {
  for (let at = 0; at < parts.length; at++) {
    const partPath = `${path}[${at}]`
    const part = objectAt(parts[at], partPath)
    CHECKS[oneOf(part['type'], `${partPath}.type`, PARTS_OF_ROLE[role])](part, partPath)
  }
}

function checkImage(part: Json, path: string): void {
  const image = objectAt(part['image_url'], `${path}.image_url`)
  const param = `${path}.image_url.url`
  const url = stringAt(image['url'], param)
  if (!isDataUrl(url) && !isHttpsUrl(url))
    refuse('invalid_value', param, `\`${param}\` must be an https or a data URL.`)
  if (!isAbsent(image['detail']))
    oneOf(image['detail'], `${path}.image_url.detail`, ['auto', 'low', 'high', 'original'])
}

function checkAudio(part: Json, path: string): void {
  const audio = objectAt(part['input_audio'], `${path}.input_audio`)
  stringAt(audio['data'], `${path}.input_audio.data`)
  stringAt(audio['format'], `${path}.input_audio.format`)
}

function checkFile(part: Json, path: string): void {
  const param = `${path}.file`
  const file = objectAt(part['file'], param)
  const { file_data: data, file_id: id, filename } = file
  if (!isAbsent(filename)) stringAt(filename, `${param}.filename`)
  if (!isAbsent(id)) stringAt(id, `${param}.file_id`)
  if (isAbsent(data)) {
    if (isAbsent(id)) refuse('missing_field', `${param}.file_data`, `\`${param}\` needs \`file_data\` or \`file_id\`.`)
  } else if (!isDataUrl(stringAt(data, `${param}.file_data`))) {
    refuse('invalid_value', `${param}.file_data`, `\`${param}.file_data\` must be a data URL.`)
  }
}

/**
 * Returns whether the text is a data URL (RFC 2397) with a media type. The data, which may be megabytes, is not
 * examined.
 */
function isDataUrl(text: string): boolean {
  return /^data:[\w.+-]+\/[\w.+-]+(;[\w.+-]+(=[^;,]*)?)*,/i.test(text.slice(0, 256))
}

function isHttpsUrl(text: string): boolean {
  return /^https:\/\//i.test(text) && URL.canParse(text)
}
