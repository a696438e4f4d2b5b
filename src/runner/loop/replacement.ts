/** Exact replacement in a text, and what is said when it is not exact. Pure. */
import { occurrencesOf, positionOf } from '../../lib/sequence-search.ts'
import { ToolError } from './arguments.ts'
import { numberedLines } from './view-tool.ts'

export interface Replacement {
  readonly old: string
  readonly new: string
  readonly replacesAll: boolean
}

export interface Replaced {
  readonly text: string
  readonly count: number
  /** Of the first place, from 1. */
  readonly line: number
}

const SHOWN_PLACES = 3
const LINES_AROUND = 2
/** Beginnings of lines that look like the numbers of `view`. */
const NUMBERED = /^\s*\d+(?: {2}|\t)/

/** Throws `ToolError` unless it is exact. A file with CRLF is also matched by text without CR, and keeps its line ends. */
export function replaced(text: string, replacement: Replacement): Replaced {
  const isCrLf = takesCrLf(text, replacement.old)
  const old = isCrLf ? withCrLf(replacement.old) : replacement.old
  const by = isCrLf ? withCrLf(replacement.new) : replacement.new
  if (old === '') throw new ToolError('`old` is empty. Use create for a new file.')
  if (old === by) throw new ToolError('`old` and `new` are the same.')
  const places = occurrencesOf(text, old)
  const [first] = places
  if (first === undefined) throw new ToolError(notFound(text, replacement.old))
  if (places.length > 1 && !replacement.replacesAll) throw new ToolError(ambiguous(text, places))
  return { text: replaceAt(text, places, { length: old.length, by }), count: places.length, line: lineAt(text, first) }
}

/** Every line ends so; or some do, and only so the text is found. */
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

function lineAt(text: string, place: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < place; at = text.indexOf('\n', at + 1)) line += 1
  return line
}

function ambiguous(text: string, places: readonly number[]): string {
  const lines = places.slice(0, 10).map((place) => lineAt(text, place))
  const more = places.length > lines.length ? ', …' : ''
  return `\`old\` occurs ${places.length} times, at lines ${lines.join(', ')}${more}. Take lines around it, so that it occurs once, or set replace_all.`
}

function notFound(text: string, old: string): string {
  const lines = text.split(/\r?\n/)
  const wanted = old.split('\n')
  const isNumbered = wanted.filter((line) => line.trim() !== '').every((line) => NUMBERED.test(line))
  const numbers = isNumbered ? ' It seems to hold line numbers: leave those out.' : ''
  const spaced = placeIgnoringSpace(lines, wanted)
  if (spaced !== undefined) {
    const there = numberedLines(lines.slice(spaced, spaced + wanted.length), spaced + 1)
    return `\`old\` does not occur, but with other white space it is at line ${spaced + 1}:\n${there}`
  }
  const near = nearLines(lines, wanted)
  const shown = near.map((at) => around(lines, at)).join('\n…\n')
  return `\`old\` does not occur in the file.${numbers}${shown === '' ? ' Nothing in it is like it: view the file.' : ` Near to it are:\n${shown}`}`
}

function placeIgnoringSpace(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const bare = (line: string) => line.replace(/\s+/g, '')
  const looked = wanted.map(bare).filter((line) => line !== '')
  if (looked.length === 0) return undefined
  const full = lines.map((line, at) => ({ line: bare(line), at })).filter(({ line }) => line !== '')
  const lineTexts = full.map(({ line }) => line)
  const place = positionOf(lineTexts, looked)
  return full[place]?.at
}

/** Lines that are most like the longest line wanted, best first. */
function nearLines(lines: readonly string[], wanted: readonly string[]): number[] {
  const key = wanted
    .map((line) => line.replace(NUMBERED, '').trim())
    .reduce((a, b) => (b.length > a.length ? b : a), '')
  const words = new Set(key.split(/\W+/).filter((word) => word.length > 1))
  if (words.size === 0) return []
  return lines
    .map((line, at) => ({ at, score: likeness(line, words) }))
    .filter(({ score }) => score >= 0.5)
    .sort((a, b) => b.score - a.score || a.at - b.at)
    .slice(0, SHOWN_PLACES)
    .map(({ at }) => at)
}

/** From 0 to 1: words in common, of all words in either. */
function likeness(line: string, words: ReadonlySet<string>): number {
  const own = new Set(line.split(/\W+/).filter((word) => word.length > 1))
  let common = 0
  for (const word of own) if (words.has(word)) common += 1
  return common / (words.size + own.size - common)
}

function around(lines: readonly string[], at: number): string {
  const from = Math.max(0, at - LINES_AROUND)
  return numberedLines(lines.slice(from, at + LINES_AROUND + 1), from + 1)
}
