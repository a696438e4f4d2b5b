/** Compares two texts line by line: the longest common subsequence of what lies between their common beginning and end. */
import type { DiffLine } from './unified-diff.ts'
import { visibleLine } from './visible-text.ts'

/**
 * Pairs of lines that are compared, in all. Of longer texts, lines that both have once are matched first, and then what
 * lies between them; what exceeds the rest of the pairs counts as replaced.
 */
const MAX_PAIRS = 1_000_000

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

type Pair = readonly [old: number, now: number]

/** Positions of lines that both have, in order. */
function commonPairs(old: readonly string[], now: readonly string[]): readonly Pair[] {
  const budget = { pairs: MAX_PAIRS }
  if (old.length * now.length <= budget.pairs) return longestCommon(old, now)
  const pairs: Pair[] = []
  let [oldAt, nowAt] = [0, 0]
  for (const anchor of [...uniquePairs(old, now), [old.length, now.length] as const]) {
    const [oldPart, nowPart] = [old.slice(oldAt, anchor[0]), now.slice(nowAt, anchor[1])]
    const cost = oldPart.length * nowPart.length
    if (cost <= budget.pairs) {
      budget.pairs -= cost
      for (const [i, j] of longestCommon(oldPart, nowPart)) pairs.push([oldAt + i, nowAt + j])
    }
    if (anchor[0] < old.length) pairs.push(anchor)
    oldAt = anchor[0] + 1
    nowAt = anchor[1] + 1
  }
  return pairs
}

/** Lines that each text has exactly once, as many of them as are in the same order in both. */
function uniquePairs(old: readonly string[], now: readonly string[]): readonly Pair[] {
  const nowAt = positionsOfUnique(now)
  const candidates: Pair[] = []
  for (const [line, at] of positionsOfUnique(old)) {
    const other = nowAt.get(line)
    if (other !== undefined) candidates.push([at, other])
  }
  return longestIncreasing(candidates)
}

/** In the order of the lines. */
function positionsOfUnique(lines: readonly string[]): ReadonlyMap<string, number> {
  const positions = new Map<string, number>()
  const repeated = new Set<string>()
  for (const [at, line] of lines.entries()) {
    if (repeated.has(line)) continue
    if (!positions.delete(line)) positions.set(line, at)
    else repeated.add(line)
  }
  return positions
}

/** The longest part whose second positions rise, too: the ends of parts of each length are searched by halves. */
function longestIncreasing(pairs: readonly Pair[]): readonly Pair[] {
  const tops: number[] = []
  const before: (number | undefined)[] = []
  for (const [index, [, position]] of pairs.entries()) {
    let [low, high] = [0, tops.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((pairs[tops[middle] ?? 0]?.[1] ?? 0) < position) low = middle + 1
      else high = middle
    }
    before.push(low === 0 ? undefined : tops[low - 1])
    tops[low] = index
  }
  const found: Pair[] = []
  for (let at = tops.at(-1); at !== undefined; at = before[at]) found.push(pairs[at] ?? [0, 0])
  return found.reverse()
}

function longestCommon(old: readonly string[], now: readonly string[]): readonly Pair[] {
  const width = now.length + 1
  const lengths = new Uint32Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const [below = 0, right = 0] = [lengths[(i + 1) * width + j], lengths[i * width + j + 1]]
      lengths[i * width + j] = old[i] === now[j] ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(below, right)
    }
  }
  const pairs: Pair[] = []
  for (let i = 0, j = 0; i < old.length && j < now.length; ) {
    if (old[i] === now[j]) pairs.push([i++, j++])
    else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) i++
    else j++
  }
  return pairs
}
