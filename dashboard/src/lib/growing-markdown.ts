/** Markdown that is still being written: what of it can be rendered, in blocks of which only the last one changes. */

/** After a blank line, what may belong to the block before it nevertheless: an item of a list, or what is in one. */
const CONTINUES = /^(?:\s|(?:[-*+]|\d{1,9}[.)])(?:\s|$))/
const OPENS_FENCE = /^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$/
/** Marks alone: what follows decides whether they are a heading, an item, a rule, a row… */
const MARKS = /^[\s>]*(?:[-=*_+#`~|:[\]!][-=*_+#`~|:[\]! ]*|\d{1,9}[.)]?\s*)?$/
const TABLE_ROW = /^ {0,3}\|/

/**
 * The blocks of the text so far, without an end that may yet become something else: the first line of a fence, the first
 * two lines of a table, marks at the start of a line. As each block is rendered by itself, what refers to another
 * (`[a][1]`, footnotes) stays as it is written.
 */
export function growingBlocks(text: string): readonly string[] {
  const complete = text.lastIndexOf('\n') + 1
  const unfinished = text.slice(complete)
  const { starts, fence, isAfterBlank } = scan(text.slice(0, complete))
  const isSettled =
    fence === undefined ? !MARKS.test(unfinished) && !OPENS_FENCE.test(unfinished) : !/^ {0,3}[`~]+$/.test(unfinished)
  if (isSettled && isAfterBlank && !CONTINUES.test(unfinished)) starts.push(complete)
  const shown = isSettled ? text : text.slice(0, complete)
  const blocks = starts.map((start, index) => shown.slice(start, starts[index + 1]))
  return fence === undefined ? [...blocks.slice(0, -1), withoutTableHead(blocks.at(-1) ?? '')] : blocks
}

/** Of whole lines: where each block begins, and the marks of the fence that is open at the end. */
function scan(text: string) {
  const starts = [0]
  let fence: string | undefined
  let isAfterBlank = false
  for (let start = 0, end = 0; start < text.length; start = end + 1) {
    end = text.indexOf('\n', start)
    const line = text.slice(start, end)
    if (fence !== undefined) {
      if (closes(line, fence)) fence = undefined
      continue
    }
    const isBlank = line.trim() === ''
    if (isAfterBlank && !isBlank && !CONTINUES.test(line)) starts.push(start)
    isAfterBlank = isBlank
    const [, backticks, tildes] = OPENS_FENCE.exec(line) ?? []
    fence = backticks ?? tildes
  }
  return { starts, fence, isAfterBlank }
}

function closes(line: string, fence: string): boolean {
  const marks = line.trim()
  return marks.length >= fence.length && marks === fence.charAt(0).repeat(marks.length)
}

/** A table is one from its second line on. */
function withoutTableHead(block: string): string {
  const lines = block.split('\n')
  const isRow = (index: number) => TABLE_ROW.test(lines[index] ?? '')
  const last = lines.at(-1) === '' ? lines.length - 2 : lines.length - 1
  return isRow(last) && !isRow(last - 1) ? lines.slice(0, last).join('\n') : block
}
