/** Measures media of a prompt by the bytes and headers of files (sizes, seconds, pages), and counts them by the rules of models. */
import { memoize } from '../../lib/collections.ts'
import type { ContentPart } from '../chat.ts'
import { textTokenBound } from './token-bound.ts'

export type Media =
  /** The size is undefined if it is unknown. */
  | { readonly kind: 'image'; readonly size: ImageSize | undefined; readonly detail: Detail }
  | { readonly kind: 'audio' | 'video'; readonly seconds: number }
  /** Pages undefined: the maximum of the model. */
  | { readonly kind: 'pages'; readonly pages: number | undefined }
  | { readonly kind: 'text'; readonly tokens: number }
  /** Tokens by the model's own tokenizer. */
  | { readonly kind: 'tokens'; readonly tokens: number }
  /** A file of unknown size. */
  | { readonly kind: 'unknown' }

/** The bytes of a file that are read. A longer file counts as its upper bound. */
const LOOK_BYTES = 1024 * 1024
const IMAGE_HEAD_BYTES = 96 * 1024

export const UNKNOWN_MEDIA: Media = { kind: 'unknown' }

/** Measures a part of a message; undefined for text. */
export function mediaOf(part: ContentPart): Media | undefined {
  if (part.type === 'image_url') return ofImageUrl(part.image_url.url, part.image_url.detail ?? 'auto')
  if (part.type === 'file') {
    const data = part.file.file_data === undefined ? undefined : dataOf(part.file.file_data)
    return data === undefined ? UNKNOWN_MEDIA : ofData(data)
  }
  if (part.type !== 'input_audio') return undefined
  const { data, format } = part.input_audio
  return {
    kind: 'audio',
    seconds: audioSeconds(Buffer.from(data.slice(0, 64), 'base64'), format, (data.length * 3) / 4),
  }
}

/** URLs of other files than images. */
const OTHER_MEDIA =
  /\.(?:pdf|txt|html?|csv|xml|json|mp4|mov|webm|mpeg|mpg|avi|wmv|flv|3gpp?|wav|mp3|ogg|flac|aac|aiff|m4a)(?:[?#]|$)/i
const VIDEO_HOSTS = /^https:\/\/(?:(?:www\.)?youtube\.com\/|youtu\.be\/|generativelanguage\.googleapis\.com\/)/i

function ofImageUrl(url: string, detail: Detail): Media {
  const data = dataOf(url)
  if (data !== undefined && !data.mediaType.startsWith('image/')) return ofData(data)
  if (data === undefined && (VIDEO_HOSTS.test(url) || OTHER_MEDIA.test(url.slice(-300)))) return UNKNOWN_MEDIA
  return { kind: 'image', size: data === undefined ? undefined : sizeOf(data), detail }
}

function sizeOf(data: Data): ImageSize | undefined {
  return imageSize(bytesOf(data, 48)) ?? (data.isBase64 ? imageSize(bytesOf(data, IMAGE_HEAD_BYTES)) : undefined)
}

/** Content of a `data:` URL, not decoded. */
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

function ofData(data: Data): Media {
  const { mediaType, body } = data
  const size = (body.length * (data.isBase64 ? 3 : 4)) / 4
  if (mediaType.startsWith('image/')) return { kind: 'image', size: sizeOf(data), detail: 'high' }
  if (mediaType === 'application/pdf') {
    return { kind: 'pages', pages: size > LOOK_BYTES ? undefined : pdfPages(bytesOf(data, LOOK_BYTES)) }
  }
  if (mediaType.startsWith('audio/')) {
    const format = mediaType.slice('audio/'.length)
    return { kind: 'audio', seconds: audioSeconds(bytesOf(data, 48), format === 'mpeg' ? 'mp3' : format, size) }
  }
  if (mediaType.startsWith('video/')) {
    return { kind: 'video', seconds: audioSeconds(bytesOf(data, 48), mediaType, size) }
  }
  if (!mediaType.startsWith('text/') && mediaType !== 'application/json') return UNKNOWN_MEDIA
  const tokens = size > LOOK_BYTES ? size : textTokenBound(bytesOf(data, LOOK_BYTES).toString('utf8'))
  return { kind: 'text', tokens }
}

/** Decodes the first bytes. */
function bytesOf({ isBase64, body }: Data, most: number): Buffer {
  if (isBase64) return Buffer.from(body.slice(0, Math.ceil((most * 4) / 3)), 'base64')
  const text = body.slice(0, most * 3)
  try {
    return Buffer.from(decodeURIComponent(text))
  } catch {
    return Buffer.from(text)
  }
}

/*
 * Upper bounds of the tokens of media, by the published formulas of the makers of models, each with its source. Images of
 * unknown size count as the largest.
 */

export type Detail = 'auto' | 'low' | 'high' | 'original'

export interface MediaRules {
  /** @param size Undefined: not known. */
  readonly image: (size: ImageSize | undefined, detail: Detail) => number
  /** Tokens of a second of sound. */
  readonly audioSecond: number
  /** Tokens of a second of video with its sound. */
  readonly videoSecond: number
  /** The tokens of a page of a document: of its image, and of its text if that is charged too. */
  readonly page: number
  /** Maximum number of pages. */
  readonly maxPages: number
}

/** Text of a dense page. Source: https://platform.claude.com/docs/en/build-with-claude/pdf-support (1,500 to 3,000). */
const PAGE_TEXT = 3000
/** Maximum of all known models, for models without published formulas. */
const UNKNOWN_IMAGE = 16_384
const UNKNOWN_AUDIO_SECOND = 50

/** Squares of `side` pixels that cover an image. */
function squares({ width, height }: ImageSize, side: number): number {
  return Math.ceil(width / side) * Math.ceil(height / side)
}

/** A rule by squares with a maximum; scaling an image may add a row and a column. */
function patches(side: number, most: number, factor = 1): MediaRules['image'] {
  return (size) => Math.ceil(factor * Math.min(most, size === undefined ? most : squares(size, side) + 2))
}

/**
 * OpenAI's tiles: the image is fitted into 2,048 × 2,048, its shorter side scaled to 768, and covered with tiles of 512.
 * Source: https://platform.openai.com/docs/guides/images-vision (Calculating costs), read 2026-11-20.
 */
function tiles(base: number, tile: number): MediaRules['image'] {
  return (size, detail) => {
    if (detail === 'low') return base
    const ratio = size === undefined ? 8 : Math.max(size.width / size.height, size.height / size.width)
    return base + tile * 2 * Math.ceil(Math.min(2048, 768 * ratio) / 512)
  }
}

interface PatchLimits {
  /** The maximum number of patches. */
  readonly most: number
  /** The limit with `detail: original`. */
  readonly original?: number
  /** The limit with `detail: auto` or without `detail`. */
  readonly auto?: number
}

/**
 * Models whose images are patches of 32 pixels; `original` keeps the size. Same source ("Model sizing behavior"). Since
 * GPT-5.5 `auto` is `original`, and since GPT-6 that has no limit of 10,000 patches any more: 4,032 × 3,024 pixels were
 * measured at 11,868 and 14,364 tokens (Hugging Face, data set "Image input token cost by resolution", read 2026-11-23).
 */
function openaiPatches(factor: number, { most, original = 10_000, auto = most }: PatchLimits): MediaRules['image'] {
  const limits = { low: most, high: most, original, auto }
  return (size, detail) => patches(32, limits[detail], factor)(size, detail)
}
/** Images of more than 60 megapixels are rejected (APIYI, "Vision: image too large", tried 2026-10-20). */
const LARGEST_ORIGINAL = 60_000

/** Source: https://platform.claude.com/docs/en/build-with-claude/vision (width × height ÷ 750, scaled to fit). */
const claude = (most: number): MediaRules['image'] => {
  return (size) =>
    size === undefined
      ? most
      : Math.min(most, Math.max(Math.ceil((size.width * size.height) / 750), squares(size, 28)) + 8)
}

/**
 * Up to 384 pixels a side 258 tokens, else 258 for each tile; since Gemini 3 1,120 at the default resolution.
 * Source: https://ai.google.dev/gemini-api/docs/image-understanding and /docs/media-resolution, read 2026-11-20.
 */
function geminiTiles(size: ImageSize = { width: 3072, height: 3072 }): number {
  const { width, height } = size
  if (width <= 384 && height <= 384) return 258
  const scale = Math.min(1, 3072 / Math.max(width, height))
  const shorter = Math.min(width, height) * scale
  const side = Math.min(768, Math.max(256, Math.floor(shorter / 1.5)))
  return 258 * squares({ width: width * scale, height: height * scale }, side)
}

function openai(image: MediaRules['image']): MediaRules {
  const page = image(undefined, 'high') + PAGE_TEXT
  // A token is 100 ms of sound. Source: https://platform.openai.com/docs/guides/realtime-costs
  return { image, audioSecond: 10, videoSecond: UNKNOWN_AUDIO_SECOND, page, maxPages: 1000 }
}

/** 32 tokens a second of sound, 263 of video (since Gemini 3: 70 a frame). Source: https://ai.google.dev/gemini-api/docs/tokens */
const GEMINI = { audioSecond: 32, videoSecond: 300, maxPages: 1000 }

function of(image: MediaRules['image']): MediaRules {
  const page = image(undefined, 'high') + PAGE_TEXT
  return { image, audioSecond: UNKNOWN_AUDIO_SECOND, videoSecond: 600, page, maxPages: 1000 }
}

/** The first pattern that matches the provider's name of the model applies. */
const RULES: readonly (readonly [pattern: RegExp, rules: MediaRules])[] = [
  [/gpt-4o-mini/, openai(tiles(2833, 5667))],
  [/gpt-[456].*-nano/, openai(openaiPatches(2.46, { most: 1536 }))],
  [/gpt-[456].*-mini|o4-mini/, openai(openaiPatches(1.72, { most: 1536 }))],
  [/gpt-5\.4/, openai(openaiPatches(1.2, { most: 2500 }))],
  [/gpt-5\.5/, openai(openaiPatches(1.2, { most: 2500, auto: 10_000 }))],
  // GPT-5.6 is not measured: it counts as its successor.
  [
    /gpt-5\.[6-9]|gpt-[6-9]/,
    openai(openaiPatches(1.2, { most: 2500, original: LARGEST_ORIGINAL, auto: LARGEST_ORIGINAL })),
  ],
  [/gpt-5/, openai(tiles(70, 140))],
  [/gpt-4|chatgpt/, openai(tiles(85, 170))],
  [/(?:^|\/)o[1-9]/, openai(tiles(75, 150))],
  // 2,576 pixels and 4,784 tokens since Opus 4.7, 1,568 pixels and about 1,600 tokens before.
  [/claude-(?:3|opus-4-[0-6]|opus-4-20|sonnet-4-|haiku-[34])/, of(claude(1640))],
  [/claude/, of(claude(4784))],
  [/gemini-(?:1|2)/, { ...GEMINI, image: geminiTiles, page: 258 }],
  [/gemini/, { ...GEMINI, image: () => 1120, page: 1120 }],
  // Source: https://ai.google.dev/gemma/docs/capabilities/vision (256 a crop, with pan and scan)
  [/gemma/, of(() => 2048)],
  // Source: https://docs.mistral.ai/capabilities/vision/ (patches of 16 up to 1,024 pixels; of 28 up to 1,540)
  [/pixtral|m(?:in|ag)?istral/, of(patches(14, 4160))],
  // Source: https://huggingface.co/meta-llama (4 tiles of 1,601 tokens; Llama 4: at most 16 of 144 and separators)
  [/llama/, of(() => 6404)],
  // Source: https://docs.x.ai/docs/guides/image-understanding (at most 6 tiles of 448 pixels and one more, 256 each)
  [/grok/, of(() => 1792)],
  // Source: https://www.alibabacloud.com/help/en/model-studio/vision (28 or 32 pixels a token, at most 16,384)
  [/qwen|qvq/, of(patches(28, 16_384))],
  // Source: https://docs.aws.amazon.com/nova/latest/userguide/modalities-image.html (about 2,600 at most)
  [/nova/, of(() => 3000)],
]
const UNKNOWN_RULES = of(patches(14, UNKNOWN_IMAGE))

/** Returns the rules by the provider's own name of a model. */
export const mediaRulesOf = memoize((model: string): MediaRules => {
  const name = model.toLowerCase()
  return RULES.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN_RULES
}, 1000)

/** Lowest bit rates of common formats, in bytes a second. */
const LEAST_BYTES_A_SECOND: Readonly<Record<string, number>> = { mp3: 1000, wav: 4000, pcm16: 16_000 }
const LEAST_OF_ANY = 500

/** Returns an upper bound in seconds. WAV has its rate in the header; other formats count at the lowest bit rate. */
function audioSeconds(head: Buffer, format: string, bytes: number): number {
  const isWav =
    head.length >= 36 && head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 16) === 'WAVEfmt '
  const isPlain = isWav && (head.readUInt16LE(20) === 1 || head.readUInt16LE(20) === 3)
  if (!isPlain) return Math.ceil(bytes / (isWav ? LEAST_OF_ANY : (LEAST_BYTES_A_SECOND[format] ?? LEAST_OF_ANY)))
  // Players use the sample rate, which may contradict the byte rate of the header.
  const rate = Math.min(head.readUInt32LE(28), head.readUInt32LE(24) * Math.max(1, head.readUInt16LE(32)))
  return Math.ceil(bytes / Math.max(LEAST_OF_ANY, rate))
}

/** Marks of compressed or encrypted objects, and of names with escapes, whose pages cannot be counted. */
const HIDDEN_PAGES = ['/ObjStm', '/Encrypt', '#50', '#61', '#67', '#65']
const PAGES_SEEN = 4096

/** Returns an upper bound of the pages of a PDF. Undefined if its bytes do not reveal them. */
function pdfPages(bytes: Buffer): number | undefined {
  if (HIDDEN_PAGES.some((mark) => bytes.includes(mark))) return undefined
  let pages = 0
  for (let at = bytes.indexOf('/Page'); at >= 0 && pages < PAGES_SEEN; at = bytes.indexOf('/Page', at + 5)) {
    if (bytes[at + 5] !== 0x73) pages += 1 // `/Pages` is the tree, `/Page` and names that begin with it count
  }
  return Math.max(1, pages)
}

/**
 * Width and height of an image from the first bytes of a PNG, JPEG, GIF or WebP file, without decoding it.
 */
interface ImageSize {
  readonly width: number
  readonly height: number
}

/** @returns Undefined for other formats, and for a header that is invalid or exceeds `bytes`. */
function imageSize(bytes: Buffer): ImageSize | undefined {
  const size = pngSize(bytes) ?? gifSize(bytes) ?? webpSize(bytes) ?? jpegSize(bytes)
  return size === undefined || size.width === 0 || size.height === 0 ? undefined : size
}

function pngSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 24 || bytes.readUInt32BE(0) !== 0x89504e47 || bytes.readUInt32BE(12) !== 0x49484452)
    return undefined
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function gifSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 10 || bytes.toString('latin1', 0, 4) !== 'GIF8') return undefined
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

function webpSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') {
    return undefined
  }
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const packed = bytes.readUInt32LE(21)
      return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    default:
      return undefined
  }
}

/** Reads the first frame header; skips segments before it. */
function jpegSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined
  let at = 2
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) at += 1
    else if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) {
      return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    } else at += 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return undefined
}
