/**
 * Finds a part within a whole in time linear in both. `String.prototype.indexOf` is quadratic for a long part that mismatches
 * only at its end: finding 100 KB in 1 MB takes seconds.
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
