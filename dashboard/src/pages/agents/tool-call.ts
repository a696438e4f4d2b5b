/** What a call of a tool is about, from the name and the JSON that a model wrote. It may be anything. Pure. */
import type { DiffLine, LineKind } from '../../lib/unified-diff.ts'
import { visibleLine } from '../../lib/visible-text.ts'
import type { ToolEntry } from './work.ts'

export type ToolCall =
  | { readonly kind: 'shell'; readonly command: string }
  | { readonly kind: 'edit'; readonly path: string; readonly old: string; readonly new: string }
  | { readonly kind: 'create'; readonly path: string; readonly content: string }
  | { readonly kind: 'view'; readonly path: string; readonly lines: string | undefined }
  | { readonly kind: 'search'; readonly pattern: string; readonly path: string | undefined }
  | { readonly kind: 'finish'; readonly summary: string }
  /** A tool, or arguments, that this page does not know. */
  | { readonly kind: 'other'; readonly text: string }

type Fields = Readonly<Record<string, unknown>>

export function readToolCall({ name, arguments: json }: Pick<ToolEntry, 'name' | 'arguments'>): ToolCall {
  const fields = fieldsOf(json)
  return (fields === undefined ? undefined : knownCall(name, fields)) ?? { kind: 'other', text: json }
}

function knownCall(name: string, fields: Fields): ToolCall | undefined {
  const text = (field: string): string | undefined => {
    const value = fields[field]
    return typeof value === 'string' ? value : undefined
  }
  const [path, command, pattern, summary] = [text('path'), text('command'), text('pattern'), text('summary')]
  if (name === 'shell' && command !== undefined) return { kind: name, command }
  if (name === 'view') return { kind: name, path: path ?? '.', lines: linesOf(fields) }
  if (name === 'search' && pattern !== undefined) return { kind: name, pattern, path }
  if (name === 'finish' && summary !== undefined) return { kind: name, summary }
  if (path === undefined) return undefined
  const [old, next, content] = [text('old'), text('new'), text('content')]
  if (name === 'edit' && old !== undefined && next !== undefined) return { kind: name, path, old, new: next }
  if (name === 'create' && content !== undefined) return { kind: name, path, content }
  return undefined
}

function linesOf({ start_line: start, end_line: end }: Fields): string | undefined {
  const [from, to] = [start, end].map((line) => (typeof line === 'number' ? String(line) : ''))
  if (from === '' && to === '') return undefined
  return `lines ${from === '' ? '1' : from}${to === '' ? ' on' : `–${to}`}`
}

function fieldsOf(json: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** The first line of a shell's output says how it went; what the command wrote comes after it. */
export function withoutOutcome(output: string): string {
  return output.replace(/^(?:exit code -?\d+|stopped: [^\n]*), after [\d.]+ s(?:, no output$|\n|$)/, '')
}

/** How much is shown while a text is folded. */
export const FOLDED_LINES = 14
export const FOLDED_CHARACTERS = 4_000
/** So little more is not worth a press. */
const FEW_LINES = 2

/**
 * A part of a long text; undefined: it is short.
 * @param keep The end of an output is where failures are told; of anything else, the beginning says what it is.
 */
export function folded(text: string, keep: 'start' | 'end' = 'start'): string | undefined {
  const lines = text.split('\n')
  if (lines.length <= FOLDED_LINES + FEW_LINES && text.length <= FOLDED_CHARACTERS) return undefined
  const isStart = keep === 'start'
  const some = (isStart ? lines.slice(0, FOLDED_LINES) : lines.slice(-FOLDED_LINES)).join('\n')
  return (isStart ? some.slice(0, FOLDED_CHARACTERS) : some.slice(-FOLDED_CHARACTERS)).toWellFormed()
}

/** What an edit changes, line by line: what both texts begin and end with stays, the rest is replaced. */
export function inlineDiff(before: string, after: string): readonly DiffLine[] {
  const [old, next] = [splitLines(before), splitLines(after)]
  const most = Math.min(old.length, next.length)
  let start = 0
  while (start < most && old[start] === next[start]) start += 1
  let end = 0
  while (end < most - start && old[old.length - 1 - end] === next[next.length - 1 - end]) end += 1
  return [
    ...lines('context', next.slice(0, start)),
    ...lines('removed', old.slice(start, old.length - end)),
    ...lines('added', next.slice(start, next.length - end)),
    ...lines('context', next.slice(next.length - end)),
  ]
}

function splitLines(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

function lines(kind: LineKind, texts: readonly string[]): readonly DiffLine[] {
  const place = { oldNumber: undefined, newNumber: undefined, isUnended: false }
  return texts.map((text) => ({ kind, text: visibleLine(text), ...place }))
}
