/** Renders the conversation as content blocks: text, images, documents, tool calls and results, signed reasoning. */
import type { ChatMessage, Citable, FilePart, ImagePart } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import {
  type Block,
  type BlockFormat,
  type ConversationSettings,
  createUniqueNames,
  type DataUrl,
  inputOf,
  type RenderedConversation,
  readDataUrl,
  renderConversation,
  type UniqueNames,
} from '../conversation.ts'
import { unsupportedContent } from '../parameters.ts'
import { type ContextEntry, contextOf, weave } from './context.ts'

/** The API's own limit of the id of a tool call. */
const MAX_ID_LENGTH = 64
/** The most cache points in a request that models take. */
const MAX_CACHE_POINTS = 4
/** The API's own limit of the name of a document. */
const MAX_NAME_LENGTH = 200
const IMAGE_FORMATS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/jpg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
}
const DOCUMENT_FORMATS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
  'application/json': 'txt',
}

export interface MessageSettings extends ConversationSettings {
  /** Whether the request has tools: without them, calls and results can only be rendered as text. */
  readonly tools: boolean
  /** Whether the model supports cache points. */
  readonly caches: boolean
  /** Whether the model cites documents. */
  readonly cites: boolean
}

/** @throws GatewayError for content that cannot be read, and for calls and results that do not belong together. */
export function renderMessages(messages: readonly ChatMessage[], settings: MessageSettings): RenderedConversation {
  checkSystem(messages)
  return limitCachePoints(renderConversation(messages, createFormat(settings), settings), settings.warnings)
}

function checkSystem(messages: readonly ChatMessage[]): void {
  for (const [position, { role, content }] of messages.entries()) {
    if ((role !== 'system' && role !== 'developer') || !Array.isArray(content)) continue
    const at = content.findIndex((part) => part.type !== 'text')
    if (at < 0) continue
    const message = 'The provider of this model reads only text in system messages.'
    throw new GatewayError('unsupported_content', message, { param: `messages[${position}].content[${at}]` })
  }
}

function createFormat({ warnings, tools, caches, cites }: MessageSettings): BlockFormat<readonly ContextEntry[]> {
  const documentNames = createUniqueNames(' (', ')')
  const cited = (citable: Citable | undefined): Citable | undefined => {
    if (citable !== undefined && !cites) warnings.add('messages[].content[].citations')
    return cites ? citable : undefined
  }
  return {
    text: (text, citable) => citedText(cited(citable), documentNames) ?? { text },
    image: (part, path) => renderImage(part, path, warnings),
    file: (part, path) => renderFile(part, { path, documentNames, isCited: cited(part.citable) !== undefined }),
    cached(block, ttl) {
      if (caches) return [block, { cachePoint: ttl === undefined ? { type: 'default' } : { type: 'default', ttl } }]
      warnings.add('messages[].content[].cache_control')
      return [block]
    },
    call({ id, name, text }) {
      if (tools) return { toolUse: { toolUseId: id, name, input: inputOf(text, warnings) } }
      warnings.add('messages[].tool_calls')
      return { text: `[Call of the tool ${name} with ${text.trim() === '' ? '{}' : text}]` }
    },
    result: ({ id, name, content }) =>
      tools
        ? [{ toolResult: { toolUseId: id, content, status: 'success' } }]
        : [{ text: `[Result of the tool ${name}:]` }, ...content],
    contextOf,
    withContext: weave,
    maxIdLength: MAX_ID_LENGTH,
    contextAlone: true,
  }
}

/** Keeps the last cache points, which reach furthest. */
function limitCachePoints(rendered: RenderedConversation, warnings: Set<string>): RenderedConversation {
  const { system, messages } = rendered
  const points = [system, ...messages.map(({ content }) => content)].flat().filter((block) => 'cachePoint' in block)
  const surplus = new Set(points.slice(0, Math.max(0, points.length - MAX_CACHE_POINTS)))
  if (surplus.size === 0) return rendered
  warnings.add('prompt_cache_breakpoint')
  const kept = (blocks: readonly Block[]): Block[] => blocks.filter((block) => !surplus.has(block))
  return { system: kept(system), messages: messages.map(({ role, content }) => ({ role, content: kept(content) })) }
}

function renderImage({ image_url: { url, detail } }: ImagePart, path: string, warnings: Set<string>): Block {
  if (detail !== undefined && detail !== 'auto') warnings.add('messages[].content[].image_url.detail')
  const data = readDataUrl(url)
  if (data === undefined) throw unsupportedContent(path, 'an image by its address; send it as a data URL')
  return imageBlock(data, path)
}

function imageBlock({ mediaType, base64 }: DataUrl, path: string): Block {
  const format = Object.hasOwn(IMAGE_FORMATS, mediaType) ? IMAGE_FORMATS[mediaType] : undefined
  if (format === undefined) throw unsupportedContent(path, `an image of type '${mediaType}'`)
  return { image: { format, source: { bytes: base64() } } }
}

interface FileSettings {
  readonly path: string
  readonly documentNames: UniqueNames
  readonly isCited: boolean
}

function renderFile({ file }: FilePart, { path, documentNames, isCited }: FileSettings): Block {
  const data = file.file_data === undefined ? undefined : readDataUrl(file.file_data)
  if (data === undefined) throw unsupportedContent(path, 'a file by its id; send it as a data URL')
  const { mediaType } = data
  if (mediaType.startsWith('image/')) return imageBlock(data, path)
  const known = Object.hasOwn(DOCUMENT_FORMATS, mediaType) ? DOCUMENT_FORMATS[mediaType] : undefined
  const format = known ?? (mediaType.startsWith('text/') ? 'txt' : undefined)
  if (format === undefined) throw unsupportedContent(path, `a file of type '${mediaType}'`)
  const document = { format, name: documentName(file.filename, documentNames), source: { bytes: data.base64() } }
  return { document: isCited ? { ...document, citations: { enabled: true } } : document }
}

/**
 * Returns the text of a document. Undefined if there is none: clients are not trusted, so other values do not count.
 */
function citedText(citable: Citable | undefined, documentNames: UniqueNames): Block | undefined {
  const { title, source } = citable ?? {}
  const isList = Array.isArray(source) && source.every((text: unknown) => typeof text === 'string')
  if (!isList && typeof source !== 'string') return undefined
  const name = documentName(typeof title === 'string' ? title : undefined, documentNames)
  const content = isList ? { content: source.map((text) => ({ text })) } : { text: source }
  return { document: { format: 'txt', name, source: content, citations: { enabled: true } } }
}

/**
 * Returns a name that the API accepts: letters, digits, single spaces, hyphens, parentheses and square brackets,
 * unique, and without the format's suffix.
 */
function documentName(filename = '', names: UniqueNames): string {
  const bare = filename
    .replace(/\.[A-Za-z0-9]{1,5}$/, '')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
  const clean =
    bare
      .replace(/[^A-Za-z0-9()[\]-]+/g, ' ')
      .trim()
      .slice(0, MAX_NAME_LENGTH - 8)
      .trim() || 'document'
  return names.take(clean, clean)
}
