/** Compares two texts line by line: the longest common subsequence of what lies between their common beginning and end. */
import type { DiffLine } from './unified-diff.ts'
import { visibleLine } from './visible-text.ts'

/** Pairs of lines that are compared: a second of work. Beyond, all lines between count as replaced. */
const MAX_PAIRS = 4_000_000

export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const [old, now] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  const rest = Math.min(old.length, now.length) - start
  while (end < rest && old[old.length - 1 - end] === now[now.length - 1 - end]) end++
  const [oldEnd, nowEnd] = [old.length - end, now.length - end]
  const kept = commonPairs(old.slice(start, oldEnd), now.slice(start, nowEnd))
  const lines: DiffLine[] = []
  const push = (kind: DiffLine['kind'], oldAt: number, nowAt: number): void => {
    const text = visibleLine((kind === 'added' ? now[nowAt] : old[oldAt]) ?? '')
    const oldNumber = kind === 'added' ? undefined : oldAt + 1
    lines.push({ kind, text, oldNumber, newNumber: kind === 'removed' ? undefined : nowAt + 1, isUnended: false })
  }
  for (let at = 0; at < start; at++) push('context', at, at)
  let [oldAt, nowAt] = [start, start]
  for (const [oldNext, nowNext] of [...kept, [oldEnd - start, nowEnd - start] as const]) {
    while (oldAt < oldNext + start) push('removed', oldAt++, nowAt)
    while (nowAt < nowNext + start) push('added', oldAt, nowAt++)
    if (oldAt < oldEnd && nowAt < nowEnd) push('context', oldAt++, nowAt++)
  }
  for (let at = 0; at < end; at++) push('context', oldEnd + at, nowEnd + at)
  return lines
}

/** Positions of lines that both have, in order. */
function commonPairs(old: readonly string[], now: readonly string[]): readonly (readonly [number, number])[] {
  if (old.length * now.length > MAX_PAIRS) return []
  const width = now.length + 1
  const lengths = new Uint32Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const [below = 0, right = 0] = [lengths[(i + 1) * width + j], lengths[i * width + j + 1]]
      lengths[i * width + j] = old[i] === now[j] ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(below, right)
    }
  }
  const pairs: (readonly [number, number])[] = []
  for (let i = 0, j = 0; i < old.length && j < now.length; ) {
    if (old[i] === now[j]) pairs.push([i++, j++])
    else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) i++
    else j++
  }
  return pairs
}
