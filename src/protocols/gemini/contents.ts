/** The conversation: who said what, in turns of user and model, and what was said before it all. */
import type { ChatMessage, ContentPart } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { isRecord, parseJson } from '../../lib/json.ts'
import { renderModelTurn } from './model-turn.ts'
import { type Part, renderPart } from './parts.ts'

export interface Content {
  readonly role: 'user' | 'model'
  readonly parts: Part[]
}

export interface Conversation {
  readonly contents: readonly Content[]
  /** Undefined where nothing is said to the system alone. */
  readonly systemInstruction: { readonly parts: readonly Part[] } | undefined
}

export interface ConversationSettings {
  /** Whether calls without a signature are refused. */
  readonly demandsSignatures: boolean
  /** Names of parameters that were dropped or bent. */
  readonly warnings: Set<string>
}

interface Result {
  /** Position of its call among the calls of the turn. */
  readonly order: number
  readonly part: Part
  /** Of the result's content, for which a function's response has no place. */
  readonly media: readonly Part[]
}

interface Draft extends ConversationSettings {
  readonly system: Part[]
  readonly contents: Content[]
  readonly calls: Map<string, { readonly name: string; readonly order: number }>
  /** Results since the last turn; they are one turn together. */
  readonly results: Result[]
}

/**
 * System messages become one instruction wherever they were; where there is nothing else, they are what the user says,
 * since the API demands a turn. Results are in the order of their calls, which is what tells calls of one name apart.
 */
export function renderConversation(messages: readonly ChatMessage[], settings: ConversationSettings): Conversation {
  const draft: Draft = { ...settings, system: [], contents: [], calls: new Map(), results: [] }
  messages.forEach((message, position) => {
    addMessage(draft, message, position)
  })
  addResults(draft)
  const { system, contents, warnings } = draft
  if (contents.length > 0) return { contents, systemInstruction: system.length > 0 ? { parts: system } : undefined }
  warnings.add('messages')
  return {
    contents: [{ role: 'user', parts: system.length > 0 ? system : [{ text: '' }] }],
    systemInstruction: undefined,
  }
}

function addMessage(draft: Draft, message: ChatMessage, position: number): void {
  const path = `messages[${position}]`
  if (message.role === 'tool') {
    draft.results.push(renderResult(draft, message, path))
    return
  }
  addResults(draft)
  if (message.name !== undefined) draft.warnings.add(`${path}.name`)
  if (message.role === 'assistant') addModelTurn(draft, message, path)
  else if (message.role === 'user') draft.contents.push({ role: 'user', parts: renderParts(draft, message, path) })
  else {
    if (draft.contents.length > 0) draft.warnings.add(`${path}.role`)
    draft.system.push(...renderParts(draft, message, path).filter((part) => part['text'] !== ''))
  }
}

function renderParts({ warnings }: Draft, { content }: ChatMessage, path: string): Part[] {
  if (!Array.isArray(content)) return [{ text: content ?? '' }]
  return content.map((part: ContentPart, at) => renderPart(part, { path: `${path}.content[${at}]`, warnings }))
}

/** Successive assistant messages are one turn: a call must follow upon what the user said. */
function addModelTurn(draft: Draft, message: ChatMessage, path: string): void {
  const { contents, calls, demandsSignatures, warnings } = draft
  message.tool_calls?.forEach(({ id, function: { name } }, order) => {
    calls.set(id, { name, order })
  })
  const parts = renderModelTurn(message, { path, demandsSignatures, warnings })
  const last = contents.at(-1)
  if (parts.length === 0) return
  if (last?.role === 'model') last.parts.push(...parts)
  else contents.push({ role: 'model', parts })
}

function addResults({ contents, results }: Draft): void {
  if (results.length === 0) return
  const sorted = results.splice(0).sort((one, other) => one.order - other.order)
  contents.push({ role: 'user', parts: sorted.map(({ part }) => part) })
  const media = sorted.flatMap((result) => result.media)
  if (media.length > 0) contents.push({ role: 'user', parts: media })
}

/** What links a result to its call is the function's name. */
function renderResult(draft: Draft, message: ChatMessage, path: string): Result {
  const { tool_call_id: id = '', name: given } = message
  const call = draft.calls.get(id)
  const name = call?.name ?? given
  if (name === undefined) {
    const param = `${path}.tool_call_id`
    throw new GatewayError('invalid_value', `'${param}' names no tool call of an earlier message.`, { param })
  }
  const parts = renderParts(draft, message, path)
  const text = parts.map((part) => part['text'] ?? '').join('')
  const media = parts.filter((part) => part['text'] === undefined)
  const response = responseOf(text)
  return { order: call?.order ?? 0, part: { functionResponse: { id, name, response } }, media }
}

/** A response is an object; of anything else, `output` is the documented place. */
function responseOf(text: string): unknown {
  const value = /^\s*\{/.test(text) ? parseJson(text) : undefined
  return isRecord(value) ? value : { output: text }
}
