/** Renders the conversation: contents of user and model, their parts, and the system instruction. */
import type { AudioPart, ChatMessage, ContentPart, FilePart, ImagePart } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { isRecord, parseJson } from '../../lib/json.ts'
import { hasMark, withKnownMarks } from '../body-fields.ts'
import { unsupportedContent } from '../parameters.ts'
import { inlineData, type Part, renderModelMessage } from './context.ts'

export interface Content {
  readonly role: 'user' | 'model'
  readonly parts: Part[]
}

export interface Conversation {
  readonly contents: readonly Content[]
  /** Undefined without system messages. */
  readonly systemInstruction: { readonly parts: readonly Part[] } | undefined
}

export interface ConversationSettings {
  /** Whether the API rejects calls without a signature. */
  readonly demandsSignatures: boolean
  /** The names of parameters that were dropped or adjusted. */
  readonly warnings: Set<string>
}

interface Result {
  /** Position of its call among the calls of the message. */
  readonly order: number
  readonly part: Part
  /** Media of the result, which a function's response cannot contain. */
  readonly media: readonly Part[]
}

interface Draft extends ConversationSettings {
  readonly system: Part[]
  readonly contents: Content[]
  readonly calls: Map<string, { readonly name: string; readonly order: number }>
  /** Results since the last content; together they are one content. */
  readonly results: Result[]
}

/**
 * System messages become one instruction; without other messages they become the user's, since the API requires one. Results
 * are in the order of their calls, which distinguishes calls of the same function.
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
  if (message.role === 'assistant') addModelMessage(draft, message, path)
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

/** Joins successive assistant messages, since a call must follow a user's content. */
function addModelMessage(draft: Draft, message: ChatMessage, path: string): void {
  const { contents, calls, demandsSignatures, warnings } = draft
  message.tool_calls?.forEach(({ id, function: { name } }, order) => {
    calls.set(id, { name, order })
  })
  const parts = renderModelMessage(message, { path, demandsSignatures, warnings })
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

/** The function's name links a result to its call. */
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

/** A response is an object; other values go into the documented field `output`. */
function responseOf(text: string): unknown {
  const value = /^\s*\{/.test(text) ? parseJson(text) : undefined
  return isRecord(value) ? value : { output: text }
}

/** Media types by OpenAI's names of audio formats. Source: https://ai.google.dev/gemini-api/docs/audio */
const AUDIO_TYPES: Readonly<Record<string, string>> = {
  wav: 'audio/wav',
  mp3: 'audio/mp3',
  aiff: 'audio/aiff',
  aac: 'audio/aac',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
}

/** Media types by extension of a name. Source: https://ai.google.dev/gemini-api/docs/file-input-methods */
const NAMED_TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  bmp: 'image/bmp',
  heic: 'image/heic',
  heif: 'image/heif',
  pdf: 'application/pdf',
  txt: 'text/plain',
  html: 'text/html',
  csv: 'text/csv',
  xml: 'text/xml',
  json: 'application/json',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  mpeg: 'video/mpeg',
  wav: 'audio/wav',
  mp3: 'audio/mp3',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
}

/** URLs whose media type the API determines: videos, and files that were uploaded to it. */
const SELF_DESCRIBING = /^https:\/\/(?:(?:www\.)?youtube\.com\/|youtu\.be\/|generativelanguage\.googleapis\.com\/)/i

/** Media type of an image URL without one; the API examines the bytes. */
const IMAGE_TYPE = 'image/jpeg'

interface PartSettings {
  /** The path of the part: `messages[i].content[j]`. */
  readonly path: string
  /** The names of parameters that were dropped or adjusted. */
  readonly warnings: Set<string>
}

/** @throws GatewayError `unsupported_content` for content that the API does not read, `invalid_value` for unreadable data. */
function renderPart(part: ContentPart, settings: PartSettings): Part {
  if (hasMark(part)) withKnownMarks(part, [], settings.warnings)
  switch (part.type) {
    case 'text':
      return { text: part.text }
    case 'refusal':
      return { text: part.refusal }
    case 'image_url':
      return renderImage(part, settings)
    case 'input_audio':
      return renderAudio(part, settings)
    case 'file':
      return renderFile(part, settings)
  }
}

function renderImage({ image_url: { url, detail } }: ImagePart, { path, warnings }: PartSettings): Part {
  if (detail !== undefined && detail !== 'auto') warnings.add(`${path}.image_url.detail`)
  if (/^data:/i.test(url)) return inlineData(url) ?? unreadable(`${path}.image_url.url`)
  if (!/^https:\/\//i.test(url))
    throw unsupportedContent(path, 'an image that is neither at an https address nor in a data URL')
  return fileData(url, namedType(url) ?? (SELF_DESCRIBING.test(url) ? undefined : IMAGE_TYPE))
}

function renderAudio({ input_audio: { data, format } }: AudioPart, { path }: PartSettings): Part {
  const mimeType = Object.hasOwn(AUDIO_TYPES, format) ? AUDIO_TYPES[format] : undefined
  if (mimeType === undefined) throw unsupportedContent(path, `audio in the format '${format}'`)
  return { inlineData: { mimeType, data } }
}

function renderFile({ file }: FilePart, { path }: PartSettings): Part {
  const { file_data: data, file_id: id = '', filename = '' } = file
  if (data !== undefined) return inlineData(data) ?? unreadable(`${path}.file.file_data`)
  const mimeType = namedType(filename) ?? namedType(id)
  const isKnown = SELF_DESCRIBING.test(id) || (/^gs:\/\//.test(id) && mimeType !== undefined)
  if (!isKnown) throw unsupportedContent(path, 'this file id')
  return fileData(id, mimeType)
}

function fileData(fileUri: string, mimeType: string | undefined): Part {
  return { fileData: mimeType === undefined ? { fileUri } : { fileUri, mimeType } }
}

/** @param name A file name or address; a query does not belong to it. */
function namedType(name: string): string | undefined {
  const [, ending = ''] = /\.([A-Za-z0-9]{2,5})$/.exec(name.replace(/[?#].*$/s, '')) ?? []
  const key = ending.toLowerCase()
  return Object.hasOwn(NAMED_TYPES, key) ? NAMED_TYPES[key] : undefined
}

function unreadable(param: string): never {
  throw new GatewayError('invalid_value', `The data URL at '${param}' cannot be read.`, { param })
}
