/**
 * The most that the prompt of a request can be in tokens, known before it is sent: every part and field of it, from bytes
 * and headers of files, in time that grows with its length alone. Formulas: `token-bound.ts` and `media-tokens.ts`.
 */
import { imageSize } from '../lib/image-size.ts'
import type { ChatMessage, ChatRequest, ContentPart, FilePart } from './chat.ts'
import { audioSeconds, type Detail, type MediaRules, mediaRulesOf, pdfPages } from './media-tokens.ts'
import { textTokenBound } from './token-bound.ts'
import { tokenFamilyOf } from './token-family.ts'

export interface PromptBound {
  /** At most. May be more than the window of the model, which no prompt that is answered exceeds. */
  readonly tokens: number
  /** What is expected: for what is charged where nobody counts. */
  readonly likelyTokens: number
  /** Of `tokens`: what `promptText` does not have. Templates, and what files carry. */
  readonly otherTokens: number
  /** Pictures, of which some hosts charge each. */
  readonly images: number
  readonly hasAudio: boolean
  /** Of a predicted answer: those that are rejected are charged as output. */
  readonly predictionTokens: number
  /** A file of unknown size is taken for all that is left of the window. */
  readonly isOpen: boolean
}

/** Names, roles and separators of a message's template. */
const MESSAGE_TOKENS = 8
const PART_TOKENS = 4
/** A tool's own template, and what providers say to a model that has any. */
const TOOL_TOKENS = 32
const TOOLS_TOKENS = 800
/** JSON in a prompt may be laid out with blanks and line breaks, which ours has not. */
const LAID_OUT = 1.5
const FORMAT_TOKENS = 300
/** Bytes of a file that are looked at. A longer file is taken for the most that it can be. */
const LOOK_BYTES = 1024 * 1024
const IMAGE_HEAD_BYTES = 96 * 1024

/** Of the bound, in most texts. */
const LIKELY_SHARE = 2 / 3
const LIKELY_MESSAGE_TOKENS = 4

interface Sum {
  text: number
  media: number
  images: number
  hasAudio: boolean
  isOpen: boolean
  readonly rules: MediaRules
  /** Of the model: what a file of unknown size is taken for. */
  readonly window: number
}

export interface PromptFacts {
  readonly contextWindow: number
  /** The providers' own names of the model: the most of any is taken. */
  readonly names: readonly string[]
}

export function promptBound(request: ChatRequest, { contextWindow, names }: PromptFacts): PromptBound {
  let most: PromptBound | undefined
  const text = textOf(request)
  for (const name of names) {
    const bound = boundFor(request, { name, contextWindow, text })
    if (most === undefined || bound.tokens > most.tokens) most = bound
  }
  return most ?? boundFor(request, { name: request.model, contextWindow, text })
}

interface Asked {
  readonly name: string
  readonly contextWindow: number
  /** Of all text, before the margin. */
  readonly text: number
}

function boundFor(request: ChatRequest, { name, contextWindow, text }: Asked): PromptBound {
  const family = tokenFamilyOf(name)
  const sum: Sum = {
    text: 0,
    media: 0,
    images: 0,
    hasAudio: false,
    isOpen: false,
    rules: mediaRulesOf(name),
    window: contextWindow,
  }
  for (const message of request.messages) addMedia(message, sum)
  const otherTokens = sum.media + Math.ceil(sum.text * family.margin) + templateTokens(request) + family.request
  return {
    tokens: Math.ceil(text * family.margin) + otherTokens,
    likelyTokens:
      Math.ceil((text + sum.text) * LIKELY_SHARE) + LIKELY_MESSAGE_TOKENS * request.messages.length + sum.media,
    otherTokens,
    images: sum.images,
    hasAudio: sum.hasAudio,
    predictionTokens: Math.ceil(predictionOf(request) * family.margin),
    isOpen: sum.isOpen,
  }
}

function templateTokens({ messages, tools, responseFormat }: ChatRequest): number {
  const ofTools = tools === undefined || tools.length === 0 ? 0 : TOOLS_TOKENS + TOOL_TOKENS * tools.length
  return MESSAGE_TOKENS * messages.length + ofTools + (responseFormat === undefined ? 0 : FORMAT_TOKENS)
}

/** Tokens of everything that is text, wherever in the request it is. */
function textOf(request: ChatRequest): number {
  const { messages, tools, responseFormat, stop, user, metadata, extra } = request
  let tokens = 0
  for (const message of messages) tokens += messageTokens(message)
  if (tools !== undefined) tokens += Math.ceil(LAID_OUT * jsonTokens(tools))
  if (responseFormat !== undefined) tokens += Math.ceil(LAID_OUT * jsonTokens(responseFormat))
  if (user !== undefined) tokens += textTokenBound(user)
  if (stop !== undefined) tokens += jsonTokens(stop)
  if (metadata !== undefined) tokens += jsonTokens(metadata)
  for (const name in extra) tokens += textTokenBound(name) + jsonTokens(extra[name])
  return tokens + predictionOf(request) + (tokens >> 6)
}

function predictionOf({ prediction }: ChatRequest): number {
  return prediction === undefined || prediction === null ? 0 : jsonTokens(prediction)
}

/** Of a value as JSON. */
function jsonTokens(value: unknown): number {
  if (typeof value === 'string') return textTokenBound(value)
  if (typeof value !== 'object' || value === null) return value === undefined ? 0 : String(value).length
  return textTokenBound(JSON.stringify(value))
}

/** What a message says in text. Fields that are none of ours are passed on by some hosts: they count as JSON. */
function messageTokens(message: ChatMessage): number {
  let tokens = 0
  for (const name in message) {
    if (name === 'role') continue
    const value = message[name as keyof ChatMessage]
    if (typeof value === 'string') tokens += textTokenBound(value)
    else if (name === 'content' && Array.isArray(value)) for (const part of value) tokens += partTokens(part)
    else if (name === 'tool_calls') tokens += callTokens(message.tool_calls)
    else if (value !== null && value !== undefined) tokens += jsonTokens(value)
  }
  return tokens
}

/** Of a part's texts, and of fields that are none of ours. What a file carries is counted by `addMedia`. */
function partTokens(part: ContentPart): number {
  let tokens = PART_TOKENS
  for (const name in part) {
    const value = part[name as keyof ContentPart] as unknown
    if (name === 'type' || name === 'image_url' || name === 'input_audio') continue
    if (name === 'file') tokens += textTokenBound((part as FilePart).file.filename ?? '')
    else tokens += jsonTokens(value)
  }
  return tokens
}

function callTokens(calls: ChatMessage['tool_calls'] = []): number {
  let tokens = 0
  for (const { id, function: called } of calls) {
    const said = textTokenBound(called.name) + textTokenBound(called.arguments)
    tokens += MESSAGE_TOKENS + textTokenBound(id) + Math.ceil(LAID_OUT * said)
  }
  return tokens
}

function addMedia(message: ChatMessage, sum: Sum): void {
  // An earlier answer in sound, by its id.
  if ('audio' in message && message.audio !== null && message.audio !== undefined) addUnknown(sum)
  if (!Array.isArray(message.content)) return
  for (const part of message.content as readonly ContentPart[]) {
    if (part.type === 'image_url') addImageUrl(part.image_url.url, part.image_url.detail ?? 'auto', sum)
    else if (part.type === 'file') addFile(part.file, sum)
    else if (part.type === 'input_audio') addAudio(part.input_audio, sum)
  }
}

function addUnknown(sum: Sum): void {
  sum.isOpen = true
  sum.hasAudio = true
  sum.media = Math.max(sum.media, sum.window)
}

/** Addresses that say by their end that they are of a picture, or say nothing. */
const OTHER_MEDIA =
  /\.(?:pdf|txt|html?|csv|xml|json|mp4|mov|webm|mpeg|mpg|avi|wmv|flv|3gpp?|wav|mp3|ogg|flac|aac|aiff|m4a)(?:[?#]|$)/i
const VIDEO_HOSTS = /^https:\/\/(?:(?:www\.)?youtube\.com\/|youtu\.be\/|generativelanguage\.googleapis\.com\/)/i

function addImageUrl(url: string, detail: Detail, sum: Sum): void {
  const data = dataOf(url)
  if (data !== undefined && !data.mediaType.startsWith('image/')) addData(data, sum)
  else if (data === undefined && (VIDEO_HOSTS.test(url) || OTHER_MEDIA.test(url.slice(-300)))) addUnknown(sum)
  else {
    sum.images += 1
    sum.media += sum.rules.image(data === undefined ? undefined : sizeOf(data), detail)
  }
}

function sizeOf(data: Data): ReturnType<typeof imageSize> {
  return imageSize(bytesOf(data, 48)) ?? (data.isBase64 ? imageSize(bytesOf(data, IMAGE_HEAD_BYTES)) : undefined)
}

function addFile({ file_data: url }: Extract<ContentPart, { type: 'file' }>['file'], sum: Sum): void {
  const data = url === undefined ? undefined : dataOf(url)
  if (data === undefined) addUnknown(sum)
  else addData(data, sum)
}

function addAudio({ data, format }: Extract<ContentPart, { type: 'input_audio' }>['input_audio'], sum: Sum): void {
  sum.hasAudio = true
  const head = Buffer.from(data.slice(0, 64), 'base64')
  sum.media += sum.rules.audioSecond * audioSeconds(head, format, (data.length * 3) / 4)
}

/** What a `data:` URL carries, not yet read. */
interface Data {
  readonly mediaType: string
  readonly isBase64: boolean
  readonly body: string
}

function dataOf(url: string): Data | undefined {
  const comma = /^data:/i.test(url.slice(0, 5)) ? url.indexOf(',') : -1
  if (comma < 0) return undefined
  const head = url.slice(5, comma).toLowerCase()
  const [mediaType = ''] = head.split(';', 1)
  return {
    mediaType: mediaType.trim(),
    isBase64: /;\s*base64\s*$|;\s*base64\s*;/.test(head),
    body: url.slice(comma + 1),
  }
}

function addData(data: Data, sum: Sum): void {
  const { mediaType, body } = data
  const size = (body.length * (data.isBase64 ? 3 : 4)) / 4
  if (mediaType.startsWith('image/')) {
    sum.images += 1
    sum.media += sum.rules.image(sizeOf(data), 'high')
  } else if (mediaType === 'application/pdf') {
    const pages = size > LOOK_BYTES ? undefined : pdfPages(bytesOf(data, LOOK_BYTES))
    const { page, maxPages } = sum.rules
    sum.media += page * Math.min(maxPages, pages ?? maxPages)
  } else if (mediaType.startsWith('audio/')) {
    sum.hasAudio = true
    const format = mediaType.slice('audio/'.length)
    sum.media += sum.rules.audioSecond * audioSeconds(bytesOf(data, 48), format === 'mpeg' ? 'mp3' : format, size)
  } else if (mediaType.startsWith('video/')) {
    sum.hasAudio = true
    sum.media += sum.rules.videoSecond * audioSeconds(bytesOf(data, 48), mediaType, size)
  } else if (mediaType.startsWith('text/') || mediaType === 'application/json') {
    sum.text += size > LOOK_BYTES ? size : textTokenBound(bytesOf(data, LOOK_BYTES).toString('utf8'))
  } else {
    addUnknown(sum)
  }
}

/** The first bytes of what it carries. */
function bytesOf({ isBase64, body }: Data, most: number): Buffer {
  if (isBase64) return Buffer.from(body.slice(0, Math.ceil((most * 4) / 3)), 'base64')
  const text = body.slice(0, most * 3)
  try {
    return Buffer.from(decodeURIComponent(text))
  } catch {
    return Buffer.from(text)
  }
}

/** All that `promptBound` counts as text, for a tokenizer. Files are not in it. */
export function promptText({
  messages,
  tools,
  responseFormat,
  stop,
  user,
  metadata,
  extra,
  prediction,
}: ChatRequest): string {
  const texts: string[] = []
  const add = (value: unknown): void => {
    if (value !== undefined && value !== null) texts.push(typeof value === 'string' ? value : JSON.stringify(value))
  }
  for (const { role: _, content, ...message } of messages) {
    if (!Array.isArray(content)) add(content)
    else for (const part of content as readonly ContentPart[]) add(part.type === 'text' ? part.text : textPartOf(part))
    for (const value of Object.values(message)) add(value)
  }
  for (const value of [tools, responseFormat, stop, user, metadata, prediction]) add(value)
  for (const name in extra) texts.push(name, JSON.stringify(extra[name]) ?? '')
  return texts.join('\n')
}

function textPartOf(part: ContentPart): string | undefined {
  return part.type === 'refusal' ? part.refusal : part.type === 'file' ? part.file.filename : undefined
}
