/**
 * Upper bound of the tokens of a text without a tokenizer, in one linear pass. It must not know requests, models or prices.
 *
 * The bound covers all tokenizers: a text that is one token in every examined vocabulary counts as one; other text counts as
 * the longest sequence of tokens that no tokenizer would join. Two neighboring tokens are never one entry of the vocabulary,
 * or the tokenizer would have joined them: where all pairs of letters are known, a run of letters has at most two tokens in
 * three letters. Characters outside of the measured classes count as a token a byte, the maximum with byte fallback.
 */
import { createLruCache, memoize } from '../../lib/collections.ts'
import { EXPANDING, PAIRS, SINGLES, TRIPLES, WORDS } from './token-vocabulary.ts'

const LOWER = 1
const UPPER = 2
const DIGIT = 3
const MARK = 4
const SPACE = 5
const BREAK = 6
const CONTROL = 7
/** Values above it: the number of tokens. */
const BEYOND = 8
const SURROGATE = 255

const NONE = -9
const LONGEST_WORD = 16
/** A character beyond it may belong to the word that it touches. */
const FIRST_LETTER_BEYOND_ASCII = 0xc0

/** The classes of characters by UTF-16 unit. */
const CLASSES = classes()
const PAIR = pairTable()
const TRIPLE = tripleTable()

const WORD_SLOTS = 1 << 14
const WORD_HASH = new Int32Array(WORD_SLOTS)
/** Offset of the letters, length, and tokens without a preceding space; 0: empty. */
const WORD_ENTRY = new Int32Array(WORD_SLOTS)
const WORD_LETTERS = fillWords()

/** System prompts and earlier messages recur with every request. */
const CACHED_TEXTS = 1000
const LONGEST_CACHED = 4096
/** Shorter texts are not cached, because a lookup takes as long as the measurement. */
const SHORTEST_CACHED = 32
const cached = createLruCache<number>(CACHED_TEXTS)

/** An upper bound of the tokens of `text`. */
export function textTokenBound(text: string): number {
  if (text.length < SHORTEST_CACHED || text.length > LONGEST_CACHED) return measure(text)
  const known = cached.get(text)
  if (known !== undefined) return known
  const tokens = measure(text)
  cached.set(text, tokens)
  return tokens
}

function measure(text: string): number {
  let tokens = 0
  let at = 0
  while (at < text.length) {
    const unit = text.charCodeAt(at)
    const kind = CLASSES[unit] ?? BEYOND
    if (kind <= UPPER || (kind === SPACE && isLetter(text, at + 1))) {
      const from = kind === SPACE ? at + 1 : at
      const end = wordEnd(text, from)
      tokens += wordTokens(text, at, from, end)
      at = end
    } else if (kind === MARK) {
      const end = runEnd(text, at, MARK)
      tokens += runTokens(text, at, end)
      at = end
    } else if (kind === SPACE || kind === BREAK) {
      const end = blankEnd(text, at)
      const length = end - at
      tokens += length === 1 ? 1 : 2 + (kind === SPACE ? length >> 4 : length >> 2)
      at = end
    } else if (kind === SURROGATE) {
      const isPair = (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
      tokens += isPair ? astralTokens(unit, text.charCodeAt(at + 1)) : 3
      at += isPair ? 2 : 1
    } else {
      tokens += kind < BEYOND ? 1 : kind - BEYOND
      at += 1
    }
  }
  return tokens
}

function isLetter(text: string, at: number): boolean {
  const kind = at < text.length ? CLASSES[text.charCodeAt(at)] : undefined
  return kind === LOWER || kind === UPPER
}

/** A word ends where its letters do, and before a capital behind a small letter. */
function wordEnd(text: string, from: number): number {
  let before = 0
  let at = from
  for (; at < text.length; at++) {
    const kind = CLASSES[text.charCodeAt(at)] ?? BEYOND
    if (kind > UPPER || (kind === UPPER && before === LOWER)) break
    before = kind
  }
  return at
}

function runEnd(text: string, start: number, kind: number): number {
  let at = start + 1
  while (at < text.length && CLASSES[text.charCodeAt(at)] === kind) at++
  return at
}

/** Returns the end of a run of one kind of white space; the last space before a word belongs to the word. */
function blankEnd(text: string, start: number): number {
  const unit = text.charCodeAt(start)
  let at = start + 1
  while (at < text.length && text.charCodeAt(at) === unit) at++
  return unit === 32 && at - start > 1 && isLetter(text, at) ? at - 1 : at
}

/** @param start Of the space before the word, if there is one. */
function wordTokens(text: string, start: number, from: number, end: number): number {
  const length = end - from
  const isAlone = !isBeyond(text, start - 1) && !isBeyond(text, end)
  const bare = isAlone && length > 1 && length < LONGEST_WORD ? knownWord(text, from, end) : 0
  if (bare === 0) return runTokens(text, start, end)
  return start < from ? 1 : bare
}

function isBeyond(text: string, at: number): boolean {
  return at >= 0 && at < text.length && text.charCodeAt(at) >= FIRST_LETTER_BEYOND_ASCII
}

/** Returns the tokens of a word that is known without a space before it; 0 if it is unknown. */
function knownWord(text: string, from: number, end: number): number {
  let hash = 0
  for (let at = from; at < end; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0
  let slot = slotOf(hash)
  for (let entry = WORD_ENTRY[slot] ?? 0; entry !== 0; entry = WORD_ENTRY[slot] ?? 0) {
    if (WORD_HASH[slot] === hash && ((entry >> 3) & 31) === end - from && isWord(text, from, entry)) return entry & 7
    slot = (slot + 1) & (WORD_SLOTS - 1)
  }
  return 0
}

function isWord(text: string, from: number, entry: number): boolean {
  const offset = entry >> 8
  for (let at = ((entry >> 3) & 31) - 1; at >= 0; at--) {
    if (WORD_LETTERS[offset + at] !== text.charCodeAt(from + at)) return false
  }
  return true
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> 15)) & (WORD_SLOTS - 1)
}

/**
 * The most tokens of a run in which no two neighbours are a known pair or triple. `one`, `two`, `more` are the most for
 * what was read so far if its last token has that many characters.
 */
function runTokens(text: string, start: number, end: number): number {
  let before = 0
  let last = text.charCodeAt(start)
  let one = 1
  let two = NONE
  let more = NONE
  let best = 1
  let bestBefore = 0
  let bestTwoBefore = NONE
  let longBefore = 0
  for (let at = start + 1; at < end; at++) {
    const unit = text.charCodeAt(at)
    const isTriple = TRIPLE[tripleIndex(before, last, unit)] === 1
    let nextOne = isTriple || more > two ? more : two
    if (one > nextOne && PAIR[(last << 7) | unit] === 0) nextOne = one
    nextOne += 1
    const nextTwo = 1 + (isTriple ? longBefore : bestBefore)
    const nextMore = Math.max(more, 1 + bestTwoBefore)
    bestTwoBefore = bestBefore
    bestBefore = best
    longBefore = two > more ? two : more
    one = nextOne
    two = nextTwo
    more = nextMore
    best = Math.max(one, two, more)
    before = last
    last = unit
  }
  return best
}

/** 0, which is no triple, unless all three are small letters. */
function tripleIndex(first: number, second: number, third: number): number {
  if (first < 97 || second < 97 || third < 97 || first > 122 || second > 122 || third > 122) return 0
  return ((first & 31) << 10) | ((second & 31) << 5) | (third & 31)
}

/** Four bytes, or more for characters that normalization decomposes: musical notes, and squared letters. */
function astralTokens(high: number, low: number): number {
  if (high === 0xd834 && low >= 0xdd5e && low <= 0xddc0) return 12
  return high === 0xd83c && low >= 0xdd00 && low < 0xdf00 ? 6 : 4
}

function classes(): Uint8Array {
  const table = new Uint8Array(0x10000)
  for (let unit = 0; unit < table.length; unit++)
    table[unit] = unit < 128 ? asciiClass(unit) : BEYOND + (unit < 0x800 ? 2 : 3)
  for (const character of SINGLES) if (character !== '\n') table[character.charCodeAt(0)] = BEYOND + 1
  for (const [tokens, codePoints] of EXPANDING) {
    for (const codePoint of codePoints.split(/\s/)) table[Number.parseInt(codePoint, 16)] = BEYOND + tokens
  }
  return table.fill(SURROGATE, 0xd800, 0xdc00)
}

function asciiClass(unit: number): number {
  if (unit === 32) return SPACE
  if (unit === 9 || unit === 10 || unit === 13) return BREAK
  if (unit < 32 || unit === 127) return CONTROL
  if (unit >= 48 && unit <= 57) return DIGIT
  if (unit >= 97 && unit <= 122) return LOWER
  return unit >= 65 && unit <= 90 ? UPPER : MARK
}

function pairTable(): Uint8Array {
  const table = new Uint8Array(128 * 128)
  for (const row of PAIRS.split(/\s/)) {
    for (let at = 1; at < row.length; at++) table[(row.charCodeAt(0) << 7) | row.charCodeAt(at)] = 1
  }
  return table
}

function tripleTable(): Uint8Array {
  const table = new Uint8Array(1 << 15)
  for (const row of TRIPLES.split(/\s/)) {
    for (let at = 2; at < row.length; at++) {
      table[tripleIndex(row.charCodeAt(0), row.charCodeAt(1), row.charCodeAt(at))] = 1
    }
  }
  return table
}

function fillWords(): Uint8Array {
  let letters = ''
  for (const [bare, words] of WORDS) {
    for (const word of words.split(/\s/)) {
      let hash = 0
      for (let at = 0; at < word.length; at++) hash = (Math.imul(hash, 31) + word.charCodeAt(at)) | 0
      let slot = slotOf(hash)
      while (WORD_ENTRY[slot] !== 0) slot = (slot + 1) & (WORD_SLOTS - 1)
      WORD_HASH[slot] = hash
      WORD_ENTRY[slot] = (letters.length << 8) | (word.length << 3) | bare
      letters += word
    }
  }
  return Buffer.from(letters, 'latin1')
}

interface TokenFamily {
  /** Factor of the bound for tokenizers that were not measured. */
  readonly margin: number
  /** The tokens of a request besides its text: templates, and instructions of the provider. */
  readonly request: number
  /** The tokenizer that counts exactly for it. */
  readonly exact: 'o200k_base' | undefined
  /** The tokens of ordinary text for one token of o200k, from the provider's counts of recorded answers. */
  readonly perOwnToken: number
}

const MEASURED: TokenFamily = { margin: 1, request: 160, exact: undefined, perOwnToken: 1 }
const CLAUDE: TokenFamily = { ...MEASURED, margin: 1.5, perOwnToken: 1.15 }

const FAMILIES: readonly (readonly [pattern: RegExp, family: TokenFamily])[] = [
  [/gpt-|chatgpt|(?:^|\/)o[1-9]/, { ...MEASURED, exact: 'o200k_base' }],
  [/gemini/, { ...MEASURED, perOwnToken: 1.07 }],
  [/gemma|llama-?[34]|qwen|deep-?seek|m(?:in|ag)?istral|codestral|devstral|pixtral/, MEASURED],
  // Not published. Newer ones make up to 1.35 times the tokens of those before.
  // Source: https://platform.claude.com/docs/en/models/opus-4-7/migration-guide
  [/claude-(?:opus-4-[7-9]|[a-z]+-[5-9])/, { ...CLAUDE, perOwnToken: 1.35 }],
  [/claude/, CLAUDE],
  // "Hi" alone is counted as several hundred tokens.
  [/grok/, { ...MEASURED, margin: 1.5, request: 1024 }],
]
const UNKNOWN: TokenFamily = { ...MEASURED, margin: 1.5, request: 512 }

/** Returns whether the name of a model reveals its tokenizer. */
export function isKnownModel(model: string): boolean {
  return tokenFamilyOf(model) !== UNKNOWN
}

/** Returns the family by the provider's own name of a model. */
export const tokenFamilyOf = memoize((model: string): TokenFamily => {
  const name = model.toLowerCase()
  return FAMILIES.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN
}, 1000)
