/** Text: escaping for HTML, names in URLs, repetitions at the end, the name that a misspelt one may mean. */

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for use between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

const MARKS = /\p{M}/gu
const LONGEST = 60

/**
 * Converts a name to a part of a URL: Latin letters in lower case and digits, everything else a dash.
 * @returns '' for a name without any.
 */
export function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(MARKS, '').toLowerCase()
  return plain
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replaceAll(/^-|-$/g, '')
}

/** The text without the repetitions of `character` at its end. In linear time, which `replace(/x+$/, '')` does not take. */
export function trimEndOf(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return text.slice(0, end)
}

/** Only the start of longer words is compared, which bounds the cost of hostile ones. */
const COMPARED_CHARACTERS = 100

/**
 * Returns the `count` candidates most similar to `word`, nearest first; ties keep the candidates' order.
 * Ignores case. A candidate that contains the word, or is contained in it, is nearer than any edit.
 */
export function nearest(word: string, candidates: Iterable<string>, count: number): string[] {
  return ranked(word, candidates)
    .slice(0, count)
    .map((entry) => entry.candidate)
}

/** Returns the candidate that `word` probably misspells; undefined when none is near enough. */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  const [best] = ranked(word, candidates)
  const allowed = Math.max(1, Math.floor(Math.min(word.length, COMPARED_CHARACTERS) * 0.4))
  return best !== undefined && best.distance <= allowed ? best.candidate : undefined
}

function ranked(word: string, candidates: Iterable<string>): { candidate: string; distance: number }[] {
  return [...candidates]
    .map((candidate) => ({ candidate, distance: distance(fold(word), fold(candidate)) }))
    .sort((one, other) => one.distance - other.distance)
}

function fold(word: string): string {
  return word.slice(0, COMPARED_CHARACTERS).toLowerCase()
}

function distance(one: string, other: string): number {
  if (one === other) return 0
  const [short, long] = one.length < other.length ? [one, other] : [other, one]
  if (short.length >= 3 && long.includes(short)) return 0.5 + (long.length - short.length) / 1000
  return editDistance(one, other)
}

/** Insertions, deletions, replacements and swaps of neighbors (optimal string alignment), each at cost 1. */
function editDistance(one: string, other: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1]
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1))
      const swapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      if (swapped && row > 1 && column > 1) cost = Math.min(cost, at(beforeLast, column - 2) + 1)
      current.push(cost)
    }
    beforeLast = last
    last = current
  }
  return at(last, other.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
