/** Masks text that arrives in pieces, and withholds text that may still become a match. */
import { findAll, type Matcher } from './matcher.ts'

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
