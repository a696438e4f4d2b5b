/**
 * What media in a prompt count as at most, by the formula that each maker of models publishes. All formulas are here, each
 * with its source. Pictures are counted by their size; where that is not known, as the largest that the maker makes of one.
 */
import type { ImageSize } from '../lib/image-size.ts'

export type Detail = 'auto' | 'low' | 'high' | 'original'

export interface MediaRules {
  /** @param size Undefined: not known. */
  readonly image: (size: ImageSize | undefined, detail: Detail) => number
  /** Tokens of a second of sound. */
  readonly audioSecond: number
  /** Tokens of a second of video with its sound. */
  readonly videoSecond: number
  /** Tokens of a page of a document: as a picture, and its text where that is charged as well. */
  readonly page: number
  /** Pages that are read at most. */
  readonly maxPages: number
}

/** Text of a dense page. Source: https://platform.claude.com/docs/en/build-with-claude/pdf-support (1,500 to 3,000). */
const PAGE_TEXT = 3000
/** Most that is known of any model, for those of which nothing is published. */
const UNKNOWN_IMAGE = 16_384
const UNKNOWN_AUDIO_SECOND = 50

/** Squares of `side` pixels that cover a picture. */
function squares({ width, height }: ImageSize, side: number): number {
  return Math.ceil(width / side) * Math.ceil(height / side)
}

/** A rule by squares with a maximum; a picture that is scaled to fit may have a row and a column of squares more. */
function patches(side: number, most: number, factor = 1): MediaRules['image'] {
  return (size) => Math.ceil(factor * Math.min(most, size === undefined ? most : squares(size, side) + 2))
}

/**
 * OpenAI's tiles: the picture is fitted into 2,048 × 2,048, its shorter side scaled to 768, and covered with tiles of 512.
 * Source: https://platform.openai.com/docs/guides/images-vision (Calculating costs), read 2026-11-20.
 */
function tiles(base: number, tile: number): MediaRules['image'] {
  return (size, detail) => {
    if (detail === 'low') return base
    const ratio = size === undefined ? 8 : Math.max(size.width / size.height, size.height / size.width)
    return base + tile * 2 * Math.ceil(Math.min(2048, 768 * ratio) / 512)
  }
}

/** Models whose pictures are patches of 32 pixels; `original` keeps the size, up to 10,000 patches. Same source. */
function openaiPatches(factor: number, most: number): MediaRules['image'] {
  return (size, detail) => patches(32, detail === 'original' ? 10_000 : most, factor)(size, detail)
}

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

/** The first row whose pattern fits the provider's name of the model counts. */
const RULES: readonly (readonly [pattern: RegExp, rules: MediaRules])[] = [
  [/gpt-4o-mini/, openai(tiles(2833, 5667))],
  [/gpt-[456].*-nano/, openai(openaiPatches(2.46, 1536))],
  [/gpt-[456].*-mini|o4-mini/, openai(openaiPatches(1.72, 1536))],
  [/gpt-5\.[4-9]|gpt-[6-9]/, openai(openaiPatches(1.2, 2500))],
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
const UNKNOWN = of(patches(14, UNKNOWN_IMAGE))

/** @param model The provider's own name of it. */
export function mediaRulesOf(model: string): MediaRules {
  const name = model.toLowerCase()
  return RULES.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN
}

/** The lowest rates of common formats, in bytes a second: what lasts longer for its bytes is not sound. */
const LEAST_BYTES_A_SECOND: Readonly<Record<string, number>> = { mp3: 1000, wav: 4000, pcm16: 16_000 }
const LEAST_OF_ANY = 500

/** Seconds of sound at most. WAV tells its rate; of other formats the bytes at the lowest bitrate. */
export function audioSeconds(head: Buffer, format: string, bytes: number): number {
  const isWav =
    head.length >= 36 && head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 16) === 'WAVEfmt '
  const isPlain = isWav && (head.readUInt16LE(20) === 1 || head.readUInt16LE(20) === 3)
  if (!isPlain) return Math.ceil(bytes / (isWav ? LEAST_OF_ANY : (LEAST_BYTES_A_SECOND[format] ?? LEAST_OF_ANY)))
  // The player goes by samples, not by the rate of bytes that the header says beside them.
  const rate = Math.min(head.readUInt32LE(28), head.readUInt32LE(24) * Math.max(1, head.readUInt16LE(32)))
  return Math.ceil(bytes / Math.max(LEAST_OF_ANY, rate))
}

/** Objects that are packed, cannot be read, or have escapes in their names: their pages are not seen. */
const HIDDEN_PAGES = ['/ObjStm', '/Encrypt', '#50', '#61', '#67', '#65']
const PAGES_SEEN = 4096

/** Pages of a PDF at most; undefined where its bytes do not show them. */
export function pdfPages(bytes: Buffer): number | undefined {
  if (HIDDEN_PAGES.some((mark) => bytes.includes(mark))) return undefined
  let pages = 0
  for (let at = bytes.indexOf('/Page'); at >= 0 && pages < PAGES_SEEN; at = bytes.indexOf('/Page', at + 5)) {
    if (bytes[at + 5] !== 0x73) pages += 1 // `/Pages` is the tree, `/Page` and names that begin with it count
  }
  return Math.max(1, pages)
}
