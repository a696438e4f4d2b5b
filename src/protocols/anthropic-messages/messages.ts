/** Renders the conversation as content blocks: text, images, documents, tool calls and results, signed thinking. */
import type { ChatMessage, FilePart, ImagePart } from '../../domain/chat.ts'
import {
  type Block,
  type BlockFormat,
  type ConversationSettings,
  type DataUrl,
  inputOf,
  type RenderedConversation,
  readDataUrl,
  renderConversation,
} from '../conversation.ts'
import { unsupportedContent } from '../parameters.ts'
import { type ContextEntry, contextOf, weave } from './context.ts'

interface MessageSettings extends ConversationSettings {
  /** The values of `anthropic-beta`. */
  readonly betas: Set<string>
}

interface RenderedMessages extends Pick<RenderedConversation, 'messages'> {
  readonly system: string | readonly Block[] | undefined
}

/** The API's own limit of cache breakpoints in a request. */
const MAX_CACHE_BREAKPOINTS = 4
const FILES_BETA = 'files-api-2025-04-14'
const IMAGE_TYPES: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/** @throws GatewayError for content that cannot be read, and for calls and results that do not belong together. */
export function renderMessages(messages: readonly ChatMessage[], settings: MessageSettings): RenderedMessages {
  const cached: Block[] = []
  const { system, messages: rendered } = renderConversation(messages, createFormat(settings, cached), settings)
  limitBreakpoints(cached, settings.warnings)
  return { system: renderSystem(system), messages: rendered }
}

/** @param cached Receives the blocks after which the prompt is to be cached, in order. */
function createFormat({ warnings, betas }: MessageSettings, cached: Block[]): BlockFormat<readonly ContextEntry[]> {
  return {
    text: (text) => ({ type: 'text', text }),
    image: (part, path) => renderImage(part, path, warnings),
    file: (part, path) => renderFile(part, path, betas),
    cached(block, ttl) {
      block['cache_control'] = ttl === undefined ? { type: 'ephemeral' } : { type: 'ephemeral', ttl }
      cached.push(block)
      return [block]
    },
    call: ({ id, name, text }) => ({ type: 'tool_use', id, name, input: inputOf(text, warnings) }),
    result: ({ id, text, content }) => {
      const block: Block = {
        type: 'tool_result',
        tool_use_id: id,
        content: text ?? (content.length > 0 ? content : undefined),
      }
      moveCacheMark(content.at(-1), block, cached)
      return [block]
    },
    contextOf,
    withContext: weave,
    maxIdLength: Number.POSITIVE_INFINITY,
    contextAlone: false,
  }
}

/** The API caches up to a whole tool result, not up to a part of it. */
function moveCacheMark(part: Block | undefined, result: Block, cached: Block[]): void {
  if (part?.['cache_control'] === undefined) return
  result['cache_control'] = part['cache_control']
  delete part['cache_control']
  cached[cached.length - 1] = result // the part, which was marked last
}

/** Keeps the last breakpoints, which reach furthest. */
function limitBreakpoints(cached: readonly Block[], warnings: Set<string>): void {
  const surplus = cached.slice(0, Math.max(0, cached.length - MAX_CACHE_BREAKPOINTS))
  for (const block of surplus) delete block['cache_control']
  if (surplus.length > 0) warnings.add('prompt_cache_breakpoint')
}

/** Renders the system prompt as one text, unless a part of it is marked for the cache. */
function renderSystem(blocks: readonly Block[]): RenderedMessages['system'] {
  if (blocks.length === 0) return undefined
  if (blocks.some((block) => block['cache_control'] !== undefined)) return blocks
  return blocks.map((block) => block['text']).join('\n')
}

function renderImage({ image_url: { url, detail } }: ImagePart, path: string, warnings: Set<string>): Block {
  if (detail !== undefined && detail !== 'auto') warnings.add('messages[].content[].image_url.detail')
  const data = readDataUrl(url)
  if (data !== undefined) return imageBlock(data, path)
  if (!/^https:/i.test(url)) {
    throw unsupportedContent(path, 'an image that is neither at an https address nor a data URL')
  }
  return { type: 'image', source: { type: 'url', url } }
}

function imageBlock({ mediaType, base64 }: DataUrl, path: string): Block {
  const known = mediaType === 'image/jpg' ? 'image/jpeg' : mediaType
  if (!IMAGE_TYPES.includes(known)) throw unsupportedContent(path, `an image of type '${known}'`)
  return { type: 'image', source: { type: 'base64', media_type: known, data: base64() } }
}

function renderFile({ file }: FilePart, path: string, betas: Set<string>): Block {
  const { file_data: url, file_id: id, filename: title } = file
  const data = url === undefined ? undefined : readDataUrl(url)
  if (data === undefined) {
    if (id === undefined || !id.startsWith('file_')) throw unsupportedContent(path, 'a file of another provider')
    betas.add(FILES_BETA)
    return { type: 'document', source: { type: 'file', file_id: id }, title }
  }
  const { mediaType } = data
  if (mediaType.startsWith('image/')) return imageBlock(data, path)
  if (mediaType === 'application/pdf') {
    return { type: 'document', source: { type: 'base64', media_type: mediaType, data: data.base64() }, title }
  }
  if (!mediaType.startsWith('text/') && mediaType !== 'application/json') {
    throw unsupportedContent(path, `a file of type '${mediaType}'`)
  }
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: data.text() }, title }
}
