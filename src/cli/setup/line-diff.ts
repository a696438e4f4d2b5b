/** Compares two texts line by line, for people who are to confirm a change. */

const CONTEXT_LINES = 2

/**
 * Returns the lines that differ, `-` before and `+` after, with two lines around them. One hunk: everything between the
 * first and the last difference. Linear in the length of the texts.
 */
export function lineDiff(before: string, after: string): string {
  const [old, changed] = [linesOf(before), linesOf(after)]
  const shorter = Math.min(old.length, changed.length)
  let start = 0
  while (start < shorter && old[start] === changed[start]) start++
  let end = 0
  while (end < shorter - start && old.at(-1 - end) === changed.at(-1 - end)) end++
  const lead = old.slice(Math.max(0, start - CONTEXT_LINES), start)
  const trail = end === 0 ? [] : old.slice(-end).slice(0, CONTEXT_LINES)
  const lines = [
    ...lead.map((line) => `  ${line}`),
    ...old.slice(start, old.length - end).map((line) => `- ${line}`),
    ...changed.slice(start, changed.length - end).map((line) => `+ ${line}`),
    ...trail.map((line) => `  ${line}`),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}
