/**
 * The most that the prompt of a request can be in tokens, known before it is sent: every part and field of it, from bytes
 * and headers of files, in time that grows with its length alone. Formulas: `token-bound.ts` and `prompt-media.ts`.
 */
import type { ChatMessage, ChatRequest, ContentPart, FilePart } from '../chat.ts'
import { type Media, type MediaRules, mediaOf, mediaRulesOf } from './prompt-media.ts'
import { textTokenBound, tokenFamilyOf } from './token-bound.ts'

export interface PromptBound {
  /** At most. May be more than the window of the model, which no prompt that is answered exceeds. */
  readonly tokens: number
  /** The expected number: charged where no count arrives. */
  readonly likelyTokens: number
  /** Of `tokens`: what `promptText` does not have. Templates, and what files carry. */
  readonly otherTokens: number
  /** Of `tokens`: pictures, sound, pages and other files. */
  readonly mediaTokens: number
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

/** Of the bound, in most texts. */
const LIKELY_SHARE = 2 / 3
const LIKELY_MESSAGE_TOKENS = 4

/** What a prompt carries, whatever model reads it; plain data, so that another thread can measure it. */
export interface PromptContent {
  /** Tokens of all text at most, before the margin of a model's tokenizer. */
  readonly text: number
  /** Of `text`: of a predicted answer. */
  readonly prediction: number
  readonly media: readonly Media[]
}

/** Measures a prompt; takes about 12 ns a character of text. */
export function promptContent(request: ChatRequest): PromptContent {
  return { text: textOf(request), prediction: predictionOf(request), media: mediaOf(request.messages) }
}

export interface PromptFacts {
  readonly contextWindow: number
  /** The providers' own names of the model: the most of any is taken. */
  readonly names: readonly string[]
}

/** @param content Of the same request, where it was measured before. */
export function promptBound(
  request: ChatRequest,
  { contextWindow, names }: PromptFacts,
  content: PromptContent = promptContent(request),
): PromptBound {
  let most: PromptBound | undefined
  for (const name of names) {
    const bound = boundFor(request, { name, contextWindow, content })
    if (most === undefined || bound.tokens > most.tokens) most = bound
  }
  return most ?? boundFor(request, { name: request.model, contextWindow, content })
}

interface BoundInput {
  readonly name: string
  readonly contextWindow: number
  readonly content: PromptContent
}

function boundFor(request: ChatRequest, { name, contextWindow, content }: BoundInput): PromptBound {
  const family = tokenFamilyOf(name)
  const rules = mediaRulesOf(name)
  const sum: Sum = { text: 0, media: 0, images: 0, hasAudio: false, isOpen: false }
  for (const each of content.media) addMedia(each, { rules, window: contextWindow }, sum)
  const { text, prediction } = content
  const otherTokens = sum.media + Math.ceil(sum.text * family.margin) + templateTokens(request) + family.request
  return {
    tokens: Math.ceil(text * family.margin) + otherTokens,
    likelyTokens:
      Math.ceil((text + sum.text) * LIKELY_SHARE) + LIKELY_MESSAGE_TOKENS * request.messages.length + sum.media,
    otherTokens,
    mediaTokens: sum.media,
    images: sum.images,
    hasAudio: sum.hasAudio,
    predictionTokens: Math.ceil(prediction * family.margin),
    isOpen: sum.isOpen,
  }
}

interface Sum {
  text: number
  media: number
  images: number
  hasAudio: boolean
  isOpen: boolean
}

interface Reading {
  readonly rules: MediaRules
  /** Of the model: what a file of unknown size is taken for. */
  readonly window: number
}

function addMedia(media: Media, { rules, window }: Reading, sum: Sum): void {
  if (media.kind === 'unknown' || media.kind === 'audio' || media.kind === 'video') sum.hasAudio = true
  if (media.kind === 'image') {
    sum.images += 1
    sum.media += rules.image(media.size, media.detail)
  } else if (media.kind === 'pages') sum.media += rules.page * Math.min(rules.maxPages, media.pages ?? rules.maxPages)
  else if (media.kind === 'audio') sum.media += rules.audioSecond * media.seconds
  else if (media.kind === 'video') sum.media += rules.videoSecond * media.seconds
  else if (media.kind === 'text') sum.text += media.tokens
  else {
    sum.isOpen = true
    sum.media = Math.max(sum.media, window)
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

/** Tokens of a message as text. Some hosts forward unknown fields: they count as JSON. */
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

/** Of a part's texts, and of fields that are none of ours. What a file carries is counted by `mediaOf`. */
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
    const text = textTokenBound(called.name) + textTokenBound(called.arguments)
    tokens += MESSAGE_TOKENS + textTokenBound(id) + Math.ceil(LAID_OUT * text)
  }
  return tokens
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
