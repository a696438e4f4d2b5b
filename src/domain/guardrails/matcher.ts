/** Compiles rules about content to matchers. */
import type { RE2JS } from 're2js'
import { GatewayError } from '../errors.ts'
import { type Match, merge, type Pattern, PII, SECRETS } from './patterns.ts'
import { type GuardrailRule, type GuardrailSide, type NamedRule, PII_TYPES, type RegexRule } from './rule.ts'

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
