/** What an edit changes, line by line: what both texts begin and end with stays, the rest is replaced. Pure. */
import type { DiffLine, LineKind } from '../../lib/unified-diff.ts'
import { visibleLine } from '../../lib/visible-text.ts'

export function inlineDiff(before: string, after: string): readonly DiffLine[] {
  const [old, next] = [linesOf(before), linesOf(after)]
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

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

function lines(kind: LineKind, texts: readonly string[]): readonly DiffLine[] {
  const place = { oldNumber: undefined, newNumber: undefined, isUnended: false }
  return texts.map((text) => ({ kind, text: visibleLine(text), ...place }))
}
