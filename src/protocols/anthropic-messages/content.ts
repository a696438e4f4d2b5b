/** Parts of messages as content blocks: text, images, documents. What the API cannot read is refused by its place. */
import type { ChatMessage, ContentPart, FilePart, ImagePart } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Price } from '../../domain/price.ts'
import { type DataUrl, readDataUrl } from '../../lib/data-url.ts'
import { cacheWish, isCachingPriced, LIFETIME } from '../cache-lifetime.ts'
import type { Block } from './wire.ts'

/** What rendering gathers on its way, beside the blocks. */
export interface Gathering {
  /** Names of parameters that were dropped or bent. */
  readonly warnings: Set<string>
  /** Values of `anthropic-beta`. */
  readonly betas: Set<string>
  /** Blocks after which the prompt is to be cached, in order. */
  readonly cached: Block[]
  readonly price: Price | undefined
}

/** The API's own limit of cache breakpoints in a request. */
const MAX_CACHE_BREAKPOINTS = 4
const FILES_BETA = 'files-api-2025-04-14'
const IMAGE_TYPES: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/**
 * Blank text is left out, since the API refuses it.
 * @param place The path of the content, for refusals: `messages[2].content`.
 */
export function renderContent(
  content: string | null | undefined | readonly ContentPart[],
  place: string,
  gathering: Gathering,
): Block[] {
  if (typeof content === 'string') return textBlocks(content)
  return (content ?? []).flatMap((part, position) => {
    const blocks = renderPart(part, `${place}[${position}]`, gathering)
    const [block] = blocks
    if (block !== undefined) noteBreakpoint(part, block, gathering)
    return blocks
  })
}

/** Whether a message has nothing that would be rendered. */
export function isBlank({ content, refusal, tool_calls: calls = [] }: ChatMessage): boolean {
  if (calls.length > 0 || (refusal ?? '').trim() !== '') return false
  if (typeof content === 'string') return content.trim() === ''
  return (content ?? []).every((part) => {
    if (part.type === 'text') return part.text.trim() === ''
    return part.type === 'refusal' && part.refusal.trim() === ''
  })
}

function textBlocks(text: string): Block[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }]
}

function renderPart(part: ContentPart, place: string, gathering: Gathering): Block[] {
  switch (part.type) {
    case 'text':
      return textBlocks(part.text)
    case 'refusal':
      return textBlocks(part.refusal)
    case 'image_url':
      return [renderImage(part, place, gathering)]
    case 'file':
      return [renderFile(part, place, gathering)]
    case 'input_audio':
      throw unreadable(place, `'input_audio' content`)
  }
}

/** A lifetime (`ttl`) that has no price is left out: the ordinary one is five minutes. */
function noteBreakpoint(part: ContentPart, block: Block, { cached, warnings, price }: Gathering): void {
  const wish = cacheWish(part)
  if (wish === undefined) return
  const isPriced = isCachingPriced(part, price)
  if (!isPriced) warnings.add(LIFETIME)
  const ttl = isPriced ? wish['ttl'] : undefined
  block['cache_control'] = ttl === '5m' || ttl === '1h' ? { type: 'ephemeral', ttl } : { type: 'ephemeral' }
  cached.push(block)
}

/** The last breakpoints reach furthest, so they are the ones to keep. */
export function limitBreakpoints({ cached, warnings }: Gathering): void {
  const surplus = cached.slice(0, Math.max(0, cached.length - MAX_CACHE_BREAKPOINTS))
  for (const block of surplus) delete block['cache_control']
  if (surplus.length > 0) warnings.add('prompt_cache_breakpoint')
}

function renderImage({ image_url: { url, detail } }: ImagePart, place: string, { warnings }: Gathering): Block {
  if (detail !== undefined && detail !== 'auto') warnings.add('messages[].content[].image_url.detail')
  const data = readDataUrl(url)
  if (data !== undefined) return imageBlock(data, place)
  if (!/^https:/i.test(url)) throw unreadable(place, 'an image that is neither at an https address nor a data URL')
  return { type: 'image', source: { type: 'url', url } }
}

function imageBlock({ mediaType, base64 }: DataUrl, place: string): Block {
  const known = mediaType === 'image/jpg' ? 'image/jpeg' : mediaType
  if (!IMAGE_TYPES.includes(known)) throw unreadable(place, `an image of type '${known}'`)
  return { type: 'image', source: { type: 'base64', media_type: known, data: base64() } }
}

function renderFile({ file }: FilePart, place: string, { betas }: Gathering): Block {
  const { file_data: url, file_id: id, filename } = file
  const data = url === undefined ? undefined : readDataUrl(url)
  if (data === undefined) {
    if (id === undefined || !id.startsWith('file_')) throw unreadable(place, 'a file of another provider')
    betas.add(FILES_BETA)
    return { type: 'document', source: { type: 'file', file_id: id }, title: filename }
  }
  const { mediaType } = data
  if (mediaType.startsWith('image/')) return imageBlock(data, place)
  if (mediaType === 'application/pdf') {
    return {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: data.base64() },
      title: filename,
    }
  }
  if (!mediaType.startsWith('text/') && mediaType !== 'application/json') {
    throw unreadable(place, `a file of type '${mediaType}'`)
  }
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: data.text() }, title: filename }
}

function unreadable(param: string, what: string): GatewayError {
  return new GatewayError('unsupported_content', `The provider of this model does not read ${what.slice(0, 120)}.`, {
    param,
  })
}
