/**
 * Whether a text is rendered as Markdown in time linear in its length. Parsers of Markdown need time and stack for each
 * open level, and compare each mark of a paragraph with those before it: 4 KB of `- - -` take seconds and overflow the
 * stack. A text beyond these limits is shown as it is.
 */

/** Levels of quotes and lists that one line opens. */
const MAX_LEVELS = 24
/** Marks of emphasis, links and code between two places where a paragraph surely ends. */
const MAX_MARKS = 1_000
/** Lines that underline a heading, each of which moves all that comes before it. */
const MAX_UNDERLINES = 500

const CONTAINER = /[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$))/y
const UNDERLINE = /^[ \t>]*(?:=+|-+)[ \t]*$/
const INDENTATION = /[ \t]*/y
const MARKS = /[*_~[\]`]/g
/** What ends a paragraph wherever it stands. A row of a table, a line of a quote and a deeper item do not. */
const ENDS_PARAGRAPH = /^(?:[ \t>]*$| {0,3}#{1,6}[ \t]| {0,3}[-*+][ \t]+[^ \t])/
/** Only fences at the start of a line: where an indented one ends depends on the list around it. */
const OPENS_FENCE = /^(?:(`{3,})[^`]*|(~{3,}).*)$/
const CLOSES_FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*$/
/** HTML is shown as text, and a fence in it is none. */
const OPENS_HTML = /^[ \t]*</

export function isSimpleMarkdown(text: string): boolean {
  let fence: string | undefined
  let hasHtml = false
  let [marks, underlines] = [0, 0]
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (fence !== undefined) {
      const [, end = ''] = CLOSES_FENCE.exec(line) ?? []
      if (end.startsWith(fence)) fence = undefined
      continue
    }
    hasHtml ||= OPENS_HTML.test(line)
    const [, backticks, tildes] = OPENS_FENCE.exec(line) ?? []
    if (!hasHtml) fence = backticks ?? tildes
    if (ENDS_PARAGRAPH.test(line)) marks = 0
    marks += line.match(MARKS)?.length ?? 0
    if (UNDERLINE.test(line)) underlines += 1
    if (underlines > MAX_UNDERLINES || marks > MAX_MARKS || levelsOf(line) > MAX_LEVELS) return false
  }
  return true
}

/** Levels that the line itself opens, and those that its indentation may continue. */
function levelsOf(line: string): number {
  INDENTATION.lastIndex = 0
  const indentation = INDENTATION.exec(line)?.[0].length ?? 0
  let levels = 0
  CONTAINER.lastIndex = 0
  while (levels <= MAX_LEVELS && CONTAINER.test(line)) levels += 1
  return levels === 0 ? 0 : levels + Math.floor(indentation / 2)
}
