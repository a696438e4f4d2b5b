/**
 * Upper bound of the tokens of a prompt before it is sent: of every part and field, in time linear in its length. Formulas:
 * `token-bound.ts` and `prompt-media.ts`.
 */
import {
  type ChatMessage,
  type ChatRequest,
  type ContentPart,
  type FilePart,
  type Task,
  tokenIdCount,
} from '../chat.ts'
import { type Media, type MediaRules, mediaOf, mediaRulesOf, UNKNOWN_MEDIA } from './prompt-media.ts'
import { textTokenBound, tokenFamilyOf } from './token-bound.ts'

export interface PromptBound {
  /** The upper bound. It may exceed the context window of the model, which no answered prompt does. */
  readonly tokens: number
  /** Expected number, charged where the provider reports none. */
  readonly likelyTokens: number
  /** The part of `tokens` that `promptText` lacks: templates and files. */
  readonly otherTokens: number
  /** The part of `tokens` for images, audio, pages and other files. */
  readonly mediaTokens: number
  /** Images, for which some hosts charge a fee. */
  readonly images: number
  readonly hasAudio: boolean
  /** The tokens of a predicted answer: rejected ones are charged as output. */
  readonly predictionTokens: number
  /** The request has a file of unknown size, which counts as the rest of the window. */
  readonly isOpen: boolean
}

/** The names, roles and separators of a message's template. */
const MESSAGE_TOKENS = 8
const PART_TOKENS = 4
/** Template of each tool, and instructions of providers for models with tools. */
const TOOL_TOKENS = 32
const TOOLS_TOKENS = 800
/** The tokens that a custom tool has as a function in addition to its own text. */
const CUSTOM_TOOL_TOKENS = 64
/** Providers may indent JSON in prompts. */
const INDENTED = 1.5
const FORMAT_TOKENS = 300
/** The tokens of a tool that the provider describes itself: twice the largest published description. */
const BUILT_IN_TOOL_TOKENS = 1500

/** The share of the bound that most texts reach. */
const LIKELY_SHARE = 2 / 3
const LIKELY_MESSAGE_TOKENS = 4

/** Content of a prompt, independent of models; plain data, so that another thread can measure it. */
export interface PromptContent {
  /** The upper bound of the tokens of all text, before the margin of a model's tokenizer. */
  readonly text: number
  /** The part of `text` that is a predicted answer. */
  readonly prediction: number
  readonly media: readonly Media[]
}

/** Measures a prompt; takes about 12 ns a character of text. */
export function promptContent(request: ChatRequest): PromptContent {
  return { text: textOf(request), prediction: predictionOf(request), media: mediaIn(request) }
}

function mediaIn({ messages, task }: ChatRequest): readonly Media[] {
  const media: Media[] = task === undefined ? [] : tokensBeside(task)
  for (const message of messages) {
    // The audio of an earlier answer, by its ID.
    if ('audio' in message && message.audio !== null && message.audio !== undefined) media.push(UNKNOWN_MEDIA)
    if (!Array.isArray(message.content)) continue
    for (const part of message.content as readonly ContentPart[]) {
      const found = part.type === 'text' ? undefined : mediaOf(part)
      if (found !== undefined) media.push(found)
    }
  }
  return media
}

/**
 * Returns the parts of a task besides its messages: token IDs, a suffix, and the query, which rerankers read with
 * every document.
 */
function tokensBeside(task: Task): Media[] {
  if (task.type === 'embedding') return [{ kind: 'tokens', tokens: tokenIdCount(task) }]
  if (task.type === 'completion') return [{ kind: 'tokens', tokens: textTokenBound(task.suffix ?? '') }]
  const repeats = Math.max(0, task.documents.length - 1)
  return [{ kind: 'tokens', tokens: (textTokenBound(task.query) + MESSAGE_TOKENS) * repeats }]
}

interface PromptFacts {
  readonly contextWindow: number
  /** The providers' own names of the model; the largest bound applies. */
  readonly names: readonly string[]
}

/** @param content Of the same request, if it is already measured. */
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

function boundFor(
  request: ChatRequest,
  { name, contextWindow, content }: { name: string; contextWindow: number; content: PromptContent },
): PromptBound {
  const family = tokenFamilyOf(name)
  const rules = mediaRulesOf(name)
  const sum: Sum = { text: 0, media: 0, images: 0, hasAudio: false, isOpen: false }
  for (const each of content.media) addMedia(sum, each, { rules, contextWindow })
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

/** A file of unknown size counts as the whole context window. */
function addMedia(
  sum: Sum,
  media: Media,
  { rules, contextWindow }: { rules: MediaRules; contextWindow: number },
): void {
  if (media.kind === 'unknown' || media.kind === 'audio' || media.kind === 'video') sum.hasAudio = true
  if (media.kind === 'image') {
    sum.images += 1
    sum.media += rules.image(media.size, media.detail)
  } else if (media.kind === 'pages') sum.media += rules.page * Math.min(rules.maxPages, media.pages ?? rules.maxPages)
  else if (media.kind === 'audio') sum.media += rules.audioSecond * media.seconds
  else if (media.kind === 'video') sum.media += rules.videoSecond * media.seconds
  else if (media.kind === 'text') sum.text += media.tokens
  else if (media.kind === 'tokens') sum.media += media.tokens
  else {
    sum.isOpen = true
    sum.media = Math.max(sum.media, contextWindow)
  }
}

function templateTokens({ messages, tools = [], responseFormat, native }: ChatRequest): number {
  const ofBuiltIn = BUILT_IN_TOOL_TOKENS * (native?.builtInTools ?? 0)
  let ofTools = tools.length === 0 ? 0 : TOOLS_TOKENS
  for (const { custom } of tools) ofTools += custom === undefined ? TOOL_TOKENS : TOOL_TOKENS + CUSTOM_TOOL_TOKENS
  return MESSAGE_TOKENS * messages.length + ofTools + ofBuiltIn + (responseFormat === undefined ? 0 : FORMAT_TOKENS)
}

/** Returns the tokens of all text in the request. */
function textOf(request: ChatRequest): number {
  const { messages, tools, responseFormat, stop, user, metadata, extra, native } = request
  let tokens = 0
  for (const message of messages) tokens += messageTokens(message)
  if (tools !== undefined) tokens += Math.ceil(INDENTED * jsonTokens(tools))
  if (responseFormat !== undefined) tokens += Math.ceil(INDENTED * jsonTokens(responseFormat))
  if (user !== undefined) tokens += textTokenBound(user)
  if (stop !== undefined) tokens += jsonTokens(stop)
  if (metadata !== undefined) tokens += jsonTokens(metadata)
  for (const value of native?.untranslated ?? []) tokens += Math.ceil(INDENTED * jsonTokens(value))
  for (const name in extra) tokens += textTokenBound(name) + jsonTokens(extra[name])
  return tokens + predictionOf(request) + (tokens >> 6)
}

function predictionOf({ prediction }: ChatRequest): number {
  return prediction === undefined || prediction === null ? 0 : jsonTokens(prediction)
}

/** Returns the tokens of a value as JSON. */
function jsonTokens(value: unknown): number {
  if (typeof value === 'string') return textTokenBound(value)
  if (typeof value !== 'object' || value === null) return value === undefined ? 0 : String(value).length
  return textTokenBound(JSON.stringify(value))
}

/** Returns the tokens of a message as text. Some hosts forward unknown fields, which count as JSON. */
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

/** Returns the tokens of texts and unknown fields of a part; `mediaOf` measures files. */
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
    tokens += MESSAGE_TOKENS + textTokenBound(id) + Math.ceil(INDENTED * text)
  }
  return tokens
}

/** Returns all text that `promptBound` counts, for a tokenizer, without files. */
export function promptText({
  messages,
  tools,
  responseFormat,
  stop,
  user,
  metadata,
  extra,
  prediction,
  native,
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
  for (const value of native?.untranslated ?? []) add(value)
  for (const name in extra) texts.push(name, JSON.stringify(extra[name]) ?? '')
  return texts.join('\n')
}

function textPartOf(part: ContentPart): string | undefined {
  return part.type === 'refusal' ? part.refusal : part.type === 'file' ? part.file.filename : undefined
}
