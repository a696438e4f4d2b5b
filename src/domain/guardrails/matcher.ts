/** Compiles rules about content to matchers. */
import type { RE2JS } from 're2js'
import { GatewayError } from '../errors.ts'
import {
  type GuardrailRule,
  type GuardrailSide,
  type NamedRule,
  PII_TYPES,
  type PiiType,
  type RegexRule,
} from './rule.ts'

export interface Matcher extends Pattern {
  readonly guardrail: string
  readonly kind: GuardrailRule['kind']
  readonly action: 'mask' | 'block'
  readonly sides: readonly GuardrailSide[]
}

/** The characters of an answer that are withheld for a pattern of a rule. */
export const DEFAULT_WINDOW = 256
export const MAX_WINDOW = 4096
export const DEFAULT_REPLACEMENT = '[REDACTED]'
const BOTH: readonly GuardrailSide[] = ['prompt', 'answer']

/** Rejects with `invalid_value` if a pattern is not valid RE2. */
export async function compileMatchers(rules: readonly NamedRule[]): Promise<readonly Matcher[]> {
  const compiled: Matcher[] = []
  for (const { guardrail, rule } of rules) {
    if (rule.kind !== 'secrets' && rule.kind !== 'pii' && rule.kind !== 'regex') continue
    const { kind, action, applies_to: sides = BOTH } = rule
    for (const pattern of await patternsOf(rule)) compiled.push({ ...pattern, guardrail, kind, action, sides })
  }
  return compiled
}

async function patternsOf(rule: GuardrailRule): Promise<readonly Pattern[]> {
  if (rule.kind === 'secrets') return [SECRETS]
  if (rule.kind === 'pii') {
    const types = rule.types ?? PII_TYPES.filter((type) => type !== 'ip_address')
    return types.map((type) => PII[type])
  }
  if (rule.kind !== 'regex') return []
  const { pattern, words = [] } = rule
  return [
    ...(pattern === undefined ? [] : [await re2Pattern(pattern, rule)]),
    ...(words.length > 0 ? [wordPattern(words, rule)] : []),
  ]
}

/** Takes linear time in the text, whatever the expression. */
async function re2Pattern(
  source: string,
  { ignore_case: ignoreCase = false, window = DEFAULT_WINDOW, ...rule }: RegexRule,
) {
  const { RE2JS: engine } = await import('re2js')
  const expression = compiled(engine, source, ignoreCase)
  return {
    mask: rule.replacement ?? DEFAULT_REPLACEMENT,
    find(text: string) {
      const found: Match[] = []
      const matcher = expression.matcher(text)
      while (matcher.find())
        if (matcher.end() > matcher.start()) found.push({ start: matcher.start(), end: matcher.end() })
      return found
    },
    heldFrom: (text: string) => Math.max(0, text.length - window),
  }
}

function compiled(engine: typeof RE2JS, source: string, ignoreCase: boolean): RE2JS {
  try {
    return engine.compile(source, ignoreCase ? engine.CASE_INSENSITIVE : 0)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new GatewayError('invalid_value', `The pattern is not a valid RE2 expression: ${reason}`, {
      param: 'pattern',
    })
  }
}

function wordPattern(words: readonly string[], { ignore_case: ignoreCase = true, replacement }: RegexRule): Pattern {
  const longest = words.reduce((most, word) => Math.max(most, word.length), 0)
  const alternatives = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|')
  const expression = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${alternatives})(?![\\p{L}\\p{N}_])`, ignoreCase ? 'giu' : 'gu')
  return {
    mask: replacement ?? DEFAULT_REPLACEMENT,
    find(text) {
      return [...text.matchAll(expression)].map((match) => ({ start: match.index, end: match.index + match[0].length }))
    },
    heldFrom: (text) => Math.max(0, text.length - longest - 1),
  }
}

interface Found extends Match {
  readonly matcher: Matcher
}

/** Returns the matches of all matchers in order, with overlapping ones joined. */
function findAll(matchers: readonly Matcher[], text: string): readonly Found[] {
  const found: Found[] = []
  for (const matcher of matchers) for (const match of matcher.find(text)) found.push({ ...match, matcher })
  return merge(found, (first, second) => (second.matcher.action === 'block' ? second : first))
}

/* Masks text that arrives in pieces, and withholds text that may still become a match. */

export interface Masker {
  /** @returns the text that cannot become a match. Throws what `onMatch` throws. */
  push(piece: string): string
  /** @returns the rest. */
  flush(): string
}

/** The characters before a piece that expressions may examine. */
const CONTEXT = 64

/** @param onMatch Called for every match before it is masked; throws where the match blocks. */
export function createMasker(matchers: readonly Matcher[], onMatch: (matcher: Matcher) => void): Masker {
  let context = ''
  let buffer = ''
  const take = (isEnd: boolean): string => {
    const text = context + buffer
    const begin = context.length
    let cut = text.length
    if (!isEnd) for (const matcher of matchers) cut = Math.min(cut, matcher.heldFrom(text))
    cut = Math.max(cut, begin)
    let masked = ''
    let from = begin
    for (const { start, end, matcher } of findAll(matchers, text)) {
      if (start < from) continue
      if (start >= cut) break
      if (end > cut && !isEnd) {
        cut = start
        break
      }
      onMatch(matcher)
      masked += text.slice(from, start) + matcher.mask
      from = end
    }
    masked += text.slice(from, cut)
    context = text.slice(Math.max(0, cut - CONTEXT), cut)
    buffer = text.slice(cut)
    return masked
  }
  return {
    push(piece) {
      buffer += piece
      return buffer === '' ? '' : take(false)
    },
    flush: () => (buffer === '' ? '' : take(true)),
  }
}

/** Masks a whole text. */
export function maskText(matchers: readonly Matcher[], text: string, onMatch: (matcher: Matcher) => void): string {
  const found = findAll(matchers, text)
  if (found.length === 0) return text
  let masked = ''
  let from = 0
  for (const { start, end, matcher } of found) {
    onMatch(matcher)
    masked += text.slice(from, start) + matcher.mask
    from = end
  }
  return masked + text.slice(from)
}

// Built-in patterns of secrets and personal data. Every expression begins at the edge of a run of its characters and
// has bounded repetitions, so that it takes linear time on any text.

interface Match {
  readonly start: number
  readonly end: number
}

interface Pattern {
  /** The replacement of a match. */
  readonly mask: string
  /** Returns the matches in order, without overlaps. */
  find(text: string): readonly Match[]
  /**
   * Returns where the tail begins that further text may turn into a match or extend. Returns the length of `text` if
   * there is none.
   */
  heldFrom(text: string): number
}

/** The longest tails that are withheld: of a JSON Web Token, and of an e-mail address. */
const LONGEST_SECRET = 8192
const LONGEST_EMAIL = 320

const SECRET = new RegExp(
  `(?<![A-Za-z0-9_-])(?:${[
    'sk-[A-Za-z0-9_-]{20,250}', // OpenAI, Anthropic and hosts that copied the form
    'tp_[A-Za-z0-9]{24,100}', // Turnpike
    'gh[oprsu]_[A-Za-z0-9]{36,250}',
    'github_pat_[A-Za-z0-9_]{22,250}',
    'glpat-[A-Za-z0-9_-]{20,100}',
    '(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])',
    'AIza[A-Za-z0-9_-]{35}',
    'xox[a-z]-[A-Za-z0-9-]{10,250}',
    '[prs]k_(?:live|test)_[A-Za-z0-9]{16,250}',
    'whsec_[A-Za-z0-9+/=]{24,100}',
    'npm_[A-Za-z0-9]{36}',
    'pypi-[A-Za-z0-9_-]{50,250}',
    'hf_[A-Za-z0-9]{30,100}',
    'SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{16,64}',
    'eyJ[A-Za-z0-9_-]{8,1024}\\.eyJ[A-Za-z0-9_-]{8,4096}\\.[A-Za-z0-9_-]{8,1024}', // a JSON Web Token
  ].join('|')})`,
  'g',
)
const KEY_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----/g
const KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----/g
/** The longest private key. Longer ones are masked up to this length. */
const LONGEST_PRIVATE_KEY = 16_384
/** The beginning of a private key at the end of a text, however short. */
const KEY_BEGINNING = /-----(?:B(?:E(?:G(?:I(?:N[A-Z0-9 ]{0,60}-{0,5})?)?)?)?)?$/

const SECRETS: Pattern = {
  mask: '[SECRET]',
  find: (text) => merge([...privateKeys(text), ...matches(SECRET, text)]),
  heldFrom(text) {
    const open = privateKeys(text).at(-1)
    if (open !== undefined && open.end === text.length && open.end - open.start < LONGEST_PRIVATE_KEY) return open.start
    const tail = tailOf(text, 80)
    const beginning = KEY_BEGINNING.exec(tail)
    const beginningAt = beginning === null ? text.length : text.length - tail.length + beginning.index
    return Math.min(beginningAt, tokenTail(text, isSecretCharacter, LONGEST_SECRET))
  },
}

/** Finds private keys. A key without an end extends as far as one may. */
function privateKeys(text: string): readonly Match[] {
  if (!text.includes('-----BEGIN ')) return NONE
  const found: Match[] = []
  KEY_BEGIN.lastIndex = 0
  for (let begin = KEY_BEGIN.exec(text); begin !== null; begin = KEY_BEGIN.exec(text)) {
    const limit = begin.index + LONGEST_PRIVATE_KEY
    KEY_END.lastIndex = KEY_BEGIN.lastIndex
    const ended = KEY_END.exec(text.length > limit ? text.slice(0, limit) : text)
    const end = ended === null ? Math.min(text.length, limit) : ended.index + ended[0].length
    found.push({ start: begin.index, end })
    KEY_BEGIN.lastIndex = end
  }
  return found
}

const EMAIL = /(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}/g
const PHONE =
  /(?<![\w+])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)|\d{1,4})(?:[ .-]?\d{2,4}){1,4}|\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}[.-]\d{3}[.-]\d{4})(?!\d)/g
const CARD = /(?<![\d-])\d(?:[ -]?\d){12,18}(?!\d)/g
const IBAN = /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/g
const IBAN_BEGINNING = /(?<![A-Za-z0-9])[A-Z]{2}\d{2}[A-Z0-9 ]{0,38}$/
const SSN = /(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])/g
const IPV4 = /(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.])/g
/** The longest number with its separators that is withheld. */
const LONGEST_NUMBER = 48

const PII: Readonly<Record<PiiType, Pattern>> = {
  email: {
    mask: '[EMAIL]',
    find: (text) => (text.includes('@') ? matches(EMAIL, text) : NONE),
    heldFrom: (text) => tokenTail(text, isEmailCharacter, LONGEST_EMAIL),
  },
  phone: { mask: '[PHONE]', find: (text) => matches(PHONE, text).filter(hasPhoneDigits(text)), heldFrom: numberTail },
  credit_card: {
    mask: '[CREDIT_CARD]',
    find: (text) => matches(CARD, text).filter(({ start, end }) => isCardNumber(text.slice(start, end))),
    heldFrom: numberTail,
  },
  iban: {
    mask: '[IBAN]',
    find: (text) => matches(IBAN, text).filter(({ start, end }) => isIban(text.slice(start, end))),
    heldFrom(text) {
      const tail = tailOf(text, LONGEST_NUMBER)
      const beginning = IBAN_BEGINNING.exec(tail)
      if (beginning !== null) return text.length - tail.length + beginning.index
      return tokenTail(text, isLetterOrDigit, LONGEST_NUMBER)
    },
  },
  us_ssn: { mask: '[SSN]', find: (text) => matches(SSN, text), heldFrom: numberTail },
  ip_address: { mask: '[IP_ADDRESS]', find: (text) => matches(IPV4, text), heldFrom: numberTail },
}

const NONE: readonly Match[] = []

function matches(expression: RegExp, text: string): readonly Match[] {
  const found: Match[] = []
  expression.lastIndex = 0
  for (let match = expression.exec(text); match !== null; match = expression.exec(text)) {
    found.push({ start: match.index, end: match.index + match[0].length })
  }
  return found
}

/**
 * Returns the items in order, with overlapping ones joined.
 * @param join Receives two that overlap, the earlier one first.
 */
function merge<Item extends Match>(
  found: readonly Item[],
  join: (first: Item, second: Item) => Item = (first) => first,
): readonly Item[] {
  if (found.length < 2) return found
  const merged: Item[] = []
  for (const match of found.toSorted((one, other) => one.start - other.start)) {
    const last = merged.at(-1)
    if (last === undefined || match.start >= last.end) merged.push(match)
    else merged[merged.length - 1] = { ...join(last, match), start: last.start, end: Math.max(last.end, match.end) }
  }
  return merged
}

function tailOf(text: string, length: number): string {
  return text.length > length ? text.slice(-length) : text
}

function tokenTail(text: string, isPart: (code: number) => boolean, longest: number): number {
  const least = Math.max(0, text.length - longest)
  let at = text.length
  while (at > least && isPart(text.charCodeAt(at - 1))) at -= 1
  return at
}

/** Digits with what may separate them; from the first digit, `+` or bracket on. */
function numberTail(text: string): number {
  const least = Math.max(0, text.length - LONGEST_NUMBER)
  let at = text.length
  let first = text.length
  while (at > least) {
    const code = text.charCodeAt(at - 1)
    const starts = isDigit(code) || code === PLUS || code === OPEN
    if (!starts && code !== SPACE && code !== CLOSE && code !== DASH && code !== DOT) break
    at -= 1
    if (starts) first = at
  }
  return first
}

const SPACE = 32
const OPEN = 40
const CLOSE = 41
const PLUS = 43
const DASH = 45
const DOT = 46

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

function isLetterOrDigit(code: number): boolean {
  return isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
}

/** Letters, digits and `_ - . / + =`. */
function isSecretCharacter(code: number): boolean {
  return isLetterOrDigit(code) || code === 95 || (code >= 45 && code <= 47) || code === PLUS || code === 61
}

/** Letters, digits and `_ - . % + @`. */
function isEmailCharacter(code: number): boolean {
  return (
    isLetterOrDigit(code) || code === 95 || code === DASH || code === DOT || code === 37 || code === PLUS || code === 64
  )
}

function hasPhoneDigits(text: string) {
  return ({ start, end }: Match): boolean => {
    const digits = text.slice(start, end).replace(/\D/g, '').length
    return digits >= 8 && digits <= 15 // E.164
  }
}

/** The check digit of card numbers, ISO/IEC 7812-1. */
function isCardNumber(text: string): boolean {
  const digits = text.replace(/\D/g, '')
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at])
    const weighed = at % 2 === 0 ? digit : digit * 2
    sum += weighed > 9 ? weighed - 9 : weighed
  }
  return sum % 10 === 0 && !/^(\d)\1*$/.test(digits)
}

/** The check digits of ISO 13616. */
function isIban(text: string): boolean {
  const plain = text.replaceAll(' ', '')
  if (plain.length < 15 || plain.length > 34) return false
  let remainder = 0
  for (const character of plain.slice(4) + plain.slice(0, 4)) {
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
  }
  return remainder === 1
}
