/** Parts of messages as content blocks: text, images, documents. What the API cannot read is refused by its place. */
import type { ContentPart, FilePart, ImagePart } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Price } from '../../domain/price.ts'
import { type DataUrl, readDataUrl } from '../../lib/data-url.ts'
import { cacheWish, isCachingPriced, LIFETIME } from '../cache-lifetime.ts'
import type { Block } from './wire.ts'

/** What rendering gathers on its way, beside the blocks. */
export interface Gathering {
  /** Names of parameters that were dropped or bent. */
  readonly warnings: Set<string>
  /** Names of documents, which the API wants to be different within a request. */
  readonly documentNames: Set<string>
  readonly price: Price | undefined
}

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
    return blocks.length > 0 && cacheWish(part) !== undefined ? [...blocks, cachePoint(part, gathering)] : blocks
  })
}

function textBlocks(text: string): Block[] {
  return text.trim() === '' ? [] : [{ text }]
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
function cachePoint(part: ContentPart, { warnings, price }: Gathering): Block {
  const isPriced = isCachingPriced(part, price)
  if (!isPriced) warnings.add(LIFETIME)
  const ttl = isPriced ? cacheWish(part)?.['ttl'] : undefined
  return { cachePoint: ttl === '5m' || ttl === '1h' ? { type: 'default', ttl } : { type: 'default' } }
}

function renderImage({ image_url: { url, detail } }: ImagePart, place: string, { warnings }: Gathering): Block {
  if (detail !== undefined && detail !== 'auto') warnings.add('messages[].content[].image_url.detail')
  const data = readDataUrl(url)
  if (data === undefined) throw unreadable(place, 'an image by its address; send it as a data URL')
  return imageBlock(data, place)
}

function imageBlock({ mediaType, base64 }: DataUrl, place: string): Block {
  const format = Object.hasOwn(IMAGE_FORMATS, mediaType) ? IMAGE_FORMATS[mediaType] : undefined
  if (format === undefined) throw unreadable(place, `an image of type '${mediaType}'`)
  return { image: { format, source: { bytes: base64() } } }
}

function renderFile({ file }: FilePart, place: string, { documentNames }: Gathering): Block {
  const data = file.file_data === undefined ? undefined : readDataUrl(file.file_data)
  if (data === undefined) throw unreadable(place, 'a file by its id; send it as a data URL')
  const { mediaType } = data
  if (mediaType.startsWith('image/')) return imageBlock(data, place)
  const known = Object.hasOwn(DOCUMENT_FORMATS, mediaType) ? DOCUMENT_FORMATS[mediaType] : undefined
  const format = known ?? (mediaType.startsWith('text/') ? 'txt' : undefined)
  if (format === undefined) throw unreadable(place, `a file of type '${mediaType}'`)
  return { document: { format, name: documentName(file.filename, documentNames), source: { bytes: data.base64() } } }
}

/**
 * The API takes letters, digits, single spaces, hyphens, parentheses and square brackets, and each name once. The name
 * has no format: that is said beside it.
 */
function documentName(filename = '', used: Set<string>): string {
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
  let name = clean
  for (let copy = 2; used.has(name); copy++) name = `${clean} (${copy})`
  used.add(name)
  return name
}

function unreadable(param: string, what: string): GatewayError {
  const message = `The provider of this model does not read ${what.slice(0, 120)}.`
  return new GatewayError('unsupported_content', message, { param })
}
