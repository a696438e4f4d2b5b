/** Reads the input of a Responses request, a text or a list of items, as messages of a chat completion. */
import { isRecord, type Json, textOf } from '../../../lib/json.ts'
import type { ContextEntry } from '../../anthropic-messages/context.ts'
import { decodeContext } from '../../opaque-context.ts'
import { arrayAt, isAbsent, objectAt, oneOf, refuse, refuseType, stringAt } from '../../openai-chat/client/checks.ts'
import { type ToolBook, wireNameOf } from './tools.ts'

export interface Conversation {
  /** Messages of a chat completion, not validated yet. */
  readonly messages: readonly object[]
  /** Paths of items without a counterpart. */
  readonly ignored: readonly string[]
  /** Whether a custom tool was called. */
  readonly hasCustomCalls: boolean
  /** The path of the first item or part that only hosts of this API understand. */
  readonly essential: string | undefined
  /** Items and parts that the messages lack. */
  readonly untranslated: readonly unknown[]
}

/** An assistant's message, made of consecutive items. */
interface Turn {
  readonly texts: string[]
  readonly refusals: string[]
  readonly reasoning: string[]
  readonly calls: object[]
  /** The order of its pieces, with signed thinking. */
  readonly entries: ContextEntry[]
  /** Provider context by protocol. */
  readonly context: Record<string, unknown>
  /** The results of its calls. */
  readonly results: object[]
  /** Whether its last item is a message. */
  endsInText: boolean
}

interface Reading {
  readonly book: ToolBook
  readonly messages: (object | Turn)[]
  /** The turn of each call that has no result yet. */
  readonly unanswered: Map<string, Turn>
  readonly ignored: string[]
  readonly untranslated: unknown[]
  essential: string | undefined
  turn: Turn | undefined
  hasCustomCalls: boolean
}

/**
 * @param earlierItems Number of leading items from earlier requests, whose warnings were returned then.
 * @throws GatewayError for the first fault.
 */
export function readConversation({ instructions, input }: Json, book: ToolBook, earlierItems = 0): Conversation {
  const reading: Reading = {
    book,
    messages: isAbsent(instructions) ? [] : [{ role: 'system', content: stringAt(instructions, 'instructions') }],
    unanswered: new Map(),
    ignored: [],
    untranslated: [],
    essential: undefined,
    turn: undefined,
    hasCustomCalls: false,
  }
  if (typeof input === 'string') reading.messages.push({ role: 'user', content: input })
  else readItems(reading, input, earlierItems)
  const [unanswered] = reading.unanswered.keys()
  if (unanswered !== undefined) {
    refuse(
      'invalid_value',
      'input',
      `No tool output found for function call ${JSON.stringify(unanswered.slice(0, 60))}.`,
    )
  }
  const messages = reading.messages.flatMap((message) => (isTurn(message) ? renderTurn(message) : [message]))
  const { ignored, hasCustomCalls, essential, untranslated } = reading
  if (messages.length === 0 && essential !== undefined) messages.push({ role: 'user', content: '' })
  return { messages, ignored, hasCustomCalls, essential, untranslated }
}

function readItems(reading: Reading, input: unknown, earlierItems: number): void {
  if (!Array.isArray(input)) refuseType(input, 'input', 'a string or an array of items')
  if (input.length === 0) refuse('invalid_value', 'input', '`input` must have at least one item.')
  for (let at = 0; at < input.length; at++) {
    const path = itemPath(at, earlierItems)
    readItem(reading, objectAt(input[at], path), path)
    if (at < earlierItems) reading.ignored.length = 0
  }
}

/** Returns the client's path of an item: the input of its request begins after the earlier items. */
export function itemPath(at: number, earlierItems: number): string {
  return at < earlierItems ? 'previous_response_id' : `input[${at - earlierItems}]`
}

/** Items of tools that ran at a provider, which the model has used already. */
const SPENT: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_list_tools',
  'tool_search_call',
  'tool_search_output',
])

function readItem(reading: Reading, item: Json, path: string): void {
  const { type = item['role'] === undefined ? 'item_reference' : 'message' } = item
  switch (type) {
    case 'message':
      readMessage(reading, item, path)
      break
    case 'reasoning':
      readReasoning(reading, item, path)
      break
    case 'function_call':
    case 'custom_tool_call':
    case 'local_shell_call':
      readCall(reading, item, path)
      break
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'local_shell_call_output':
      readResult(reading, item, path)
      break
    case 'additional_tools':
      break // among the tools of the request
    case 'item_reference':
      refuse(
        'invalid_value',
        path,
        `\`${path}\` refers to an item, but items are not stored here. Send the item itself.`,
      )
      break
    default:
      stringAt(type, `${path}.type`)
      keepUntranslated(reading, item, path)
  }
}

/** Kept for hosts of this API. Others omit items that the model has used already, and reject the rest. */
function keepUntranslated(reading: Reading, item: Json, path: string): void {
  reading.untranslated.push(item)
  if (SPENT.has(textOf(item['type']))) reading.ignored.push(path)
  else reading.essential ??= `${path}.type`
}

function noteUnknown(reading: Reading): NoteUnknown {
  return (part, path) => {
    reading.untranslated.push(part)
    reading.essential ??= path
  }
}

const ROLES = ['user', 'assistant', 'system', 'developer'] as const

function readMessage(reading: Reading, item: Json, path: string): void {
  const role = oneOf(item['role'], `${path}.role`, ROLES)
  const content = readContent(item['content'], `${path}.content`, noteUnknown(reading))
  if (role !== 'assistant') {
    reading.turn = undefined
    reading.messages.push({ role, content })
    return
  }
  const turn = reading.turn === undefined || reading.turn.endsInText ? startTurn(reading) : reading.turn
  turn.endsInText = true
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  for (const [at, part] of parts.entries()) {
    const kind = oneOf(part.type, `${path}.content[${at}].type`, ['text', 'refusal'])
    if (kind === 'refusal') turn.refusals.push(textOf(part['refusal']))
    else addText(turn, textOf(part['text']))
  }
}

function addText({ texts, entries }: Turn, text: string): void {
  texts.push(text)
  if (text !== '') entries.push({ type: 'text', length: text.length })
}

function startTurn(reading: Reading): Turn {
  const turn: Turn = {
    texts: [],
    refusals: [],
    reasoning: [],
    calls: [],
    entries: [],
    context: {},
    results: [],
    endsInText: false,
  }
  reading.turn = turn
  reading.messages.push(turn)
  return turn
}

function turnOf(reading: Reading): Turn {
  return reading.turn ?? startTurn(reading)
}

/** Reads the text, and the provider context if this gateway encoded it. */
function readReasoning(reading: Reading, item: Json, path: string): void {
  const turn = turnOf(reading)
  turn.endsInText = false
  for (const field of ['content', 'summary']) {
    if (isAbsent(item[field])) continue
    const parts = arrayAt(item[field], `${path}.${field}`)
    for (const [at, part] of parts.entries()) {
      const partPath = `${path}.${field}[${at}]`
      turn.reasoning.push(stringAt(objectAt(part, partPath)['text'], `${partPath}.text`))
    }
    if (parts.length > 0) break
  }
  if (isAbsent(item['encrypted_content'])) return
  const context = decodeContext(stringAt(item['encrypted_content'], `${path}.encrypted_content`))
  if (context === undefined) {
    reading.ignored.push(`${path}.encrypted_content`)
    reading.untranslated.push(item['encrypted_content'])
  } else addContext(turn, context)
}

/** Signed thinking of Anthropic keeps its position among the items; other contexts contain theirs. */
function addContext({ entries, context }: Turn, { anthropic, ...others }: Json): void {
  Object.assign(context, others)
  if (!isRecord(anthropic) || !Array.isArray(anthropic['blocks'])) return
  for (const block of anthropic['blocks']) {
    if (!isRecord(block)) continue
    const { type, thinking, signature, data } = block
    if (type === 'thinking') entries.push({ type, thinking: textOf(thinking), signature: textOf(signature) })
    else if (type === 'redacted_thinking') entries.push({ type, data: textOf(data) })
  }
}

function readCall(reading: Reading, item: Json, path: string): void {
  const turn = turnOf(reading)
  turn.endsInText = false
  const id = stringAt(item['call_id'] ?? item['id'], `${path}.call_id`)
  if (reading.unanswered.has(id))
    refuse('invalid_value', `${path}.call_id`, `\`${path}.call_id\` repeats an earlier one.`)
  turn.calls.push(calledTool(reading, item, { id, path }))
  turn.entries.push({ type: 'tool_use', id })
  reading.unanswered.set(id, turn)
}

function calledTool(
  reading: Reading,
  item: Json,
  { id, path }: { readonly id: string; readonly path: string },
): object {
  if (item['type'] === 'local_shell_call') {
    const { type: _, ...action } = objectAt(item['action'], `${path}.action`)
    return { id, type: 'function', function: { name: 'local_shell', arguments: JSON.stringify(action) } }
  }
  const namespace = isAbsent(item['namespace']) ? {} : { namespace: stringAt(item['namespace'], `${path}.namespace`) }
  const name = wireNameOf(reading.book, { name: stringAt(item['name'], `${path}.name`), ...namespace })
  if (item['type'] === 'function_call') {
    return { id, type: 'function', function: { name, arguments: stringAt(item['arguments'], `${path}.arguments`) } }
  }
  reading.hasCustomCalls = true
  return { id, type: 'custom', custom: { name, input: stringAt(item['input'], `${path}.input`) } }
}

/** Is placed after the message of its call. */
function readResult(reading: Reading, item: Json, path: string): void {
  const id = stringAt(item['call_id'] ?? item['id'], `${path}.call_id`)
  const turn = reading.unanswered.get(id)
  if (turn === undefined) {
    const shown = JSON.stringify(id.slice(0, 60))
    refuse('invalid_value', `${path}.call_id`, `No tool call found for function call output with call_id ${shown}.`)
  }
  reading.unanswered.delete(id)
  reading.turn = undefined
  const content = readContent(item['output'], `${path}.output`, noteUnknown(reading))
  turn.results.push({ role: 'tool', tool_call_id: id, content: content.length === 0 ? '' : content })
}

function isTurn(message: object | Turn): message is Turn {
  return 'entries' in message
}

/** Omits a message that contains only reasoning, which no provider accepts. */
function renderTurn({ texts, refusals, reasoning, calls, entries, context, results }: Turn): object[] {
  if (texts.length === 0 && refusals.length === 0 && calls.length === 0) return []
  const contexts = { ...context, ...signedContext(entries) }
  return [
    {
      role: 'assistant',
      content: texts.length === 0 ? null : texts.join(''),
      ...(refusals.length > 0 && { refusal: refusals.join('') }),
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(reasoning.length > 0 && { reasoning_content: reasoning.join('\n\n') }),
      ...(Object.keys(contexts).length > 0 && { provider_context: contexts }),
    },
    ...results,
  ]
}

function signedContext(entries: readonly ContextEntry[]): object {
  if (!entries.some(({ type }) => type === 'thinking' || type === 'redacted_thinking')) return {}
  const blocks = entries.map((entry, index) =>
    entry.type === 'text' ? { type: 'text', length: String(entry.length), index } : { ...entry, index },
  )
  return { anthropic: { blocks } }
}

/* Reads the content of messages and of tool results: a text, or parts of text, images, files and audio. */

/** A content part of a chat completion. */
export interface Part {
  readonly type: string
  readonly [field: string]: unknown
}

const TYPES: ReadonlySet<string> = new Set([
  'input_text',
  'output_text',
  'text',
  'summary_text',
  'reasoning_text',
  'refusal',
  'input_image',
  'input_file',
  'input_audio',
])

/** Called for a part without a translation, with its path. */
type NoteUnknown = (part: Json, path: string) => void

/** Holds the place of a file that the provider has or fetches: its size is not known. */
const FILE_ELSEWHERE: Part = { type: 'file', file: { file_id: 'file_of_the_provider' } }

/** @returns a text for a text, and for a single part of text. @throws GatewayError for the first fault. */
function readContent(content: unknown, path: string, noteUnknown: NoteUnknown): string | readonly Part[] {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) refuseType(content, path, 'a string or an array of content parts')
  const parts: Part[] = []
  for (let at = 0; at < content.length; at++) {
    const partPath = `${path}[${at}]`
    const part = objectAt(content[at], partPath)
    const elsewhere = fileElsewhere(part)
    if (elsewhere !== undefined) {
      noteUnknown(part, `${partPath}.${elsewhere}`)
      parts.push(FILE_ELSEWHERE)
    } else if (TYPES.has(stringAt(part['type'], `${partPath}.type`))) parts.push(readPart(part, partPath))
    else noteUnknown(part, `${partPath}.type`)
  }
  if (parts.length === 0 && content.length > 0) return ''
  const [only] = parts
  return parts.length === 1 && typeof only?.['text'] === 'string' ? only['text'] : parts
}

function readPart(part: Json, path: string): Part {
  switch (part['type']) {
    case 'refusal':
      return { type: 'refusal', refusal: stringAt(part['refusal'], `${path}.refusal`) }
    case 'input_image':
      return readImage(part, path)
    case 'input_file':
      return readFile(part, path)
    case 'input_audio':
      return { type: 'input_audio', input_audio: part['input_audio'] }
    default:
      return { type: 'text', text: stringAt(part['text'], `${path}.text`) }
  }
}

/** The field that refers to a file or an image which the request does not contain; undefined: it contains it. */
function fileElsewhere({
  type,
  image_url: image,
  file_data: data,
  file_url: url,
  file_id: id,
}: Json): string | undefined {
  if (type === 'input_image') return isAbsent(image) && !isAbsent(id) ? 'file_id' : undefined
  if (type !== 'input_file' || !isAbsent(data)) return undefined
  if (!isAbsent(url)) return 'file_url'
  return isAbsent(id) ? undefined : 'file_id'
}

function readImage({ image_url: url, detail }: Json, path: string): Part {
  const shown = isAbsent(detail) ? {} : { detail: stringAt(detail, `${path}.detail`) }
  return { type: 'image_url', image_url: { url: stringAt(url, `${path}.image_url`), ...shown } }
}

function readFile({ file_data: data, filename }: Json, path: string): Part {
  const text = stringAt(data, `${path}.file_data`)
  const named = isAbsent(filename) ? {} : { filename: stringAt(filename, `${path}.filename`) }
  return {
    type: 'file',
    file: { ...named, file_data: text.startsWith('data:') ? text : `data:application/pdf;base64,${text}` },
  }
}
