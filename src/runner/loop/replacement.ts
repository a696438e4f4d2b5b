/** Exact replacement in a text, and the hints where the text does not match. Pure. */
import { numberedLines } from '../plain-text.ts'
import { ToolError } from './tool.ts'

export interface Replacement {
  readonly old: string
  readonly new: string
  readonly replacesAll: boolean
}

export interface Replaced {
  readonly text: string
  readonly count: number
  /** Of the first match, from 1. */
  readonly line: number
}

const SHOWN_MATCHES = 3
const LINES_AROUND = 2
/** Line beginnings that look like the line numbers of `view`. */
const NUMBERED = /^\s*\d+(?: {2}|\t)/

/** Throws `ToolError` unless it is exact. A file with CRLF is also matched by text without CR, and keeps its line ends. */
export function replaceExact(text: string, replacement: Replacement): Replaced {
  const isCrLf = takesCrLf(text, replacement.old)
  const old = isCrLf ? withCrLf(replacement.old) : replacement.old
  const by = isCrLf ? withCrLf(replacement.new) : replacement.new
  if (old === '') throw new ToolError('`old` is empty. Use create for a new file.')
  if (old === by) throw new ToolError('`old` and `new` are the same.')
  const matches = occurrencesOf(text, old)
  const [first] = matches
  if (first === undefined) throw new ToolError(notFound(text, replacement.old))
  if (matches.length > 1 && !replacement.replacesAll) throw new ToolError(ambiguous(text, matches))
  return {
    text: replaceAt(text, matches, { length: old.length, by }),
    count: matches.length,
    line: lineAt(text, first),
  }
}

/** Whether every line ends with CRLF, or some do and the text matches only with CRLF. */
function takesCrLf(text: string, old: string): boolean {
  if (old.includes('\r') || !text.includes('\r\n')) return false
  return !/(?<!\r)\n/.test(text) || !text.includes(old)
}

function withCrLf(text: string): string {
  return text.replace(/\r?\n/g, '\r\n')
}

function replaceAt(text: string, starts: readonly number[], { length, by }: { length: number; by: string }): string {
  const pieces: string[] = []
  let end = 0
  for (const start of starts) {
    pieces.push(text.slice(end, start), by)
    end = start + length
  }
  pieces.push(text.slice(end))
  return pieces.join('')
}

function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line += 1
  return line
}

function ambiguous(text: string, matches: readonly number[]): string {
  const lines = matches.slice(0, 10).map((offset) => lineAt(text, offset))
  const more = matches.length > lines.length ? ', …' : ''
  return `\`old\` occurs ${matches.length} times, at lines ${lines.join(', ')}${more}. Take lines around it, so that it occurs once, or set replace_all.`
}

function notFound(text: string, old: string): string {
  const lines = text.split(/\r?\n/)
  const wanted = old.split('\n')
  const isNumbered = wanted.filter((line) => line.trim() !== '').every((line) => NUMBERED.test(line))
  const numbers = isNumbered ? ' It seems to hold line numbers: leave those out.' : ''
  const spaced = matchIgnoringSpace(lines, wanted)
  if (spaced !== undefined) {
    const there = numberedLines(lines.slice(spaced, spaced + wanted.length), spaced + 1)
    return `\`old\` does not occur, but with other white space it is at line ${spaced + 1}:\n${there}`
  }
  const near = nearLines(lines, wanted)
  const shown = near.map((at) => around(lines, at)).join('\n…\n')
  return `\`old\` does not occur in the file.${numbers}${shown === '' ? ' Nothing in it is like it: view the file.' : ` Near to it are:\n${shown}`}`
}

function matchIgnoringSpace(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const bare = (line: string) => line.replace(/\s+/g, '')
  const searched = wanted.map(bare).filter((line) => line !== '')
  if (searched.length === 0) return undefined
  const full = lines.map((line, at) => ({ line: bare(line), at })).filter(({ line }) => line !== '')
  const lineTexts = full.map(({ line }) => line)
  const offset = positionOf(lineTexts, searched)
  return full[offset]?.at
}

/** Lines most similar to the longest wanted line, best first. */
function nearLines(lines: readonly string[], wanted: readonly string[]): number[] {
  const key = wanted
    .map((line) => line.replace(NUMBERED, '').trim())
    .reduce((a, b) => (b.length > a.length ? b : a), '')
  const words = new Set(key.split(/\W+/).filter((word) => word.length > 1))
  if (words.size === 0) return []
  return lines
    .map((line, at) => ({ at, score: similarity(line, words) }))
    .filter(({ score }) => score >= 0.5)
    .sort((a, b) => b.score - a.score || a.at - b.at)
    .slice(0, SHOWN_MATCHES)
    .map(({ at }) => at)
}

/** Jaccard index of the words, 0 to 1. */
function similarity(line: string, words: ReadonlySet<string>): number {
  const own = new Set(line.split(/\W+/).filter((word) => word.length > 1))
  let common = 0
  for (const word of own) if (words.has(word)) common += 1
  return common / (words.size + own.size - common)
}

function around(lines: readonly string[], at: number): string {
  const from = Math.max(0, at - LINES_AROUND)
  return numberedLines(lines.slice(from, at + LINES_AROUND + 1), from + 1)
}

/*
 * Finds a part within a whole in time linear in both. `String.prototype.indexOf` is quadratic for a long part that
 * mismatches only at its end: finding 100 KB in 1 MB takes seconds.
 */

/** A string, compared by UTF-16 unit, or a list, compared by identity. */
type Sequence = ArrayLike<unknown>

/** Parts below this length are cheap for `indexOf`. */
const SHORT_PART = 64

/** @returns Starts of all occurrences that do not overlap, from the left. None where `part` is empty. */
export function occurrencesOf(text: string, part: string): number[] {
  if (part === '') return []
  const find = part.length < SHORT_PART ? undefined : prepareSearch(part)
  const starts: number[] = []
  const next = (from: number): number => (find === undefined ? text.indexOf(part, from) : find(text, from))
  for (let at = next(0); at >= 0; at = next(at + part.length)) starts.push(at)
  return starts
}

/** @returns The first position of `part` in `whole`, or -1. */
export function positionOf(whole: Sequence, part: Sequence): number {
  return part.length === 0 ? 0 : prepareSearch(part)(whole, 0)
}

/** Knuth, Morris and Pratt, 1977: no element of the whole is read twice. */
function prepareSearch(part: Sequence): (whole: Sequence, from: number) => number {
  const borders = bordersOf(part)
  return (whole, from) => {
    let matched = 0
    for (let at = from; at < whole.length; at++) {
      const element = whole[at]
      while (matched > 0 && part[matched] !== element) matched = borders[matched - 1] ?? 0
      if (part[matched] === element) matched += 1
      if (matched === part.length) return at - matched + 1
    }
    return -1
  }
}

/** For each prefix, the length of its longest proper prefix that is also its suffix. */
function bordersOf(part: Sequence): Int32Array {
  const borders = new Int32Array(part.length)
  let length = 0
  for (let at = 1; at < part.length; at++) {
    while (length > 0 && part[length] !== part[at]) length = borders[length - 1] ?? 0
    if (part[length] === part[at]) length += 1
    borders[at] = length
  }
  return borders
}
