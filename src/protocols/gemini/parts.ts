/** Content parts: text, and media as bytes or as an address that the API fetches by itself. */
import type { AudioPart, ContentPart, FilePart, ImagePart } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'

/** One part on the wire: `{text}`, `{inlineData}`, `{fileData}`, `{functionCall}` or `{functionResponse}`. */
export type Part = Record<string, unknown>

/** Our names of audio formats to media types. Source: https://ai.google.dev/gemini-api/docs/audio */
const AUDIO_TYPES: Readonly<Record<string, string>> = {
  wav: 'audio/wav',
  mp3: 'audio/mp3',
  aiff: 'audio/aiff',
  aac: 'audio/aac',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
}

/** By what a name ends in. Source: https://ai.google.dev/gemini-api/docs/file-input-methods */
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

/** Addresses whose media type the API knows by itself: videos, and files that were uploaded to it. */
const SELF_DESCRIBING = /^https:\/\/(?:(?:www\.)?youtube\.com\/|youtu\.be\/|generativelanguage\.googleapis\.com\/)/i

/** What is said of an image whose address says nothing; the bytes are looked at, not the word. */
const IMAGE_TYPE = 'image/jpeg'

export interface PartPlace {
  /** `messages[i].content[j]`. */
  readonly path: string
  /** Names of parameters that were dropped or bent. */
  readonly warnings: Set<string>
}

/** @throws GatewayError `unsupported_content` for what the API cannot be given, `invalid_value` for unreadable data. */
export function renderPart(part: ContentPart, place: PartPlace): Part {
  switch (part.type) {
    case 'text':
      return { text: part.text }
    case 'refusal':
      return { text: part.refusal }
    case 'image_url':
      return renderImage(part, place)
    case 'input_audio':
      return renderAudio(part, place)
    case 'file':
      return renderFile(part, place)
  }
}

/** @returns undefined for what is no data URL (RFC 2397). */
export function inlineData(url: string): Part | undefined {
  const comma = /^data:/i.test(url) ? url.indexOf(',') : -1
  if (comma < 0) return undefined
  const [mimeType = '', ...parameters] = url.slice(5, comma).split(';')
  const data = url.slice(comma + 1)
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64')
  const bytes = isBase64 ? data : percentDecoded(data)?.toString('base64')
  return bytes === undefined
    ? undefined
    : { inlineData: { mimeType: mimeType.toLowerCase() || 'text/plain', data: bytes } }
}

function percentDecoded(text: string): Buffer | undefined {
  try {
    return Buffer.from(decodeURIComponent(text))
  } catch {
    return undefined
  }
}

function renderImage({ image_url: { url, detail } }: ImagePart, { path, warnings }: PartPlace): Part {
  if (detail !== undefined && detail !== 'auto') warnings.add(`${path}.image_url.detail`)
  if (/^data:/i.test(url)) return inlineData(url) ?? unreadable(`${path}.image_url.url`)
  if (!/^https:\/\//i.test(url))
    throw unsupported(path, 'an image that is neither at an https address nor in a data URL')
  return fileData(url, namedType(url) ?? (SELF_DESCRIBING.test(url) ? undefined : IMAGE_TYPE))
}

function renderAudio({ input_audio: { data, format } }: AudioPart, { path }: PartPlace): Part {
  const mimeType = Object.hasOwn(AUDIO_TYPES, format) ? AUDIO_TYPES[format] : undefined
  if (mimeType === undefined) throw unsupported(path, `audio in the format '${format}'`)
  return { inlineData: { mimeType, data } }
}

function renderFile({ file }: FilePart, { path }: PartPlace): Part {
  const { file_data: data, file_id: id = '', filename = '' } = file
  if (data !== undefined) return inlineData(data) ?? unreadable(`${path}.file.file_data`)
  const mimeType = namedType(filename) ?? namedType(id)
  const isKnown = SELF_DESCRIBING.test(id) || (/^gs:\/\//.test(id) && mimeType !== undefined)
  if (!isKnown) throw unsupported(path, 'this file id')
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

function unsupported(param: string, what: string): GatewayError {
  return new GatewayError('unsupported_content', `The provider of this model does not read ${what}.`, { param })
}

function unreadable(param: string): never {
  throw new GatewayError('invalid_value', `The data URL at '${param}' cannot be read.`, { param })
}
