/**
 * Cleans text of sandboxes and models before it is stored or sent to a model: well-formed, bounded, without control
 * characters but newline and tab.
 */

/** Escape sequences of terminals: CSI, OSC and the two-character ones. */
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g
const LINE_ENDS = /\r\n?/g
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

export function plainText(text: string): string {
  return text.toWellFormed().replace(ESCAPES, '').replace(LINE_ENDS, '\n').replace(CONTROLS, '')
}

export function byteLength(text: string): number {
  return Buffer.byteLength(text)
}

/** Share of a truncated text that its beginning takes; failures are usually reported at the end. */
const HEAD_PART = 0.4

export interface Bounded {
  readonly text: string
  readonly isCut: boolean
}

/**
 * Removes the middle of a text that exceeds `maxBytes`, and inserts a note of how much is missing.
 * @returns At most `maxBytes`, the note included, where that is enough for the note; it never breaks a character.
 */
export function bounded(text: string, maxBytes: number): Bounded {
  const bytes = byteLength(text)
  if (bytes <= maxBytes) return { text, isCut: false }
  const buffer = Buffer.from(text)
  const room = Math.max(0, maxBytes - byteLength(note(bytes)))
  const head = wholeCharacters(buffer, 0, Math.floor(room * HEAD_PART))
  const tail = wholeCharacters(buffer, bytes - (room - head.length), bytes)
  return { text: `${head}${note(bytes - head.length - tail.length)}${tail}`, isCut: true }
}

/** The characters that lie completely between two offsets. */
function wholeCharacters(buffer: Buffer, from: number, to: number): Buffer {
  let start = from
  let end = to
  while (start < end && isContinuation(buffer[start])) start += 1
  while (end > start && end < buffer.length && isContinuation(buffer[end])) end -= 1
  return buffer.subarray(start, end)
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

function note(bytes: number): string {
  return `\n[… ${groupDigits(bytes)} bytes cut …]\n`
}

/** `123 456` */
export function groupDigits(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ' ')
}

/** Plain and bounded. */
export function tidy(text: string, maxBytes: number): string {
  return bounded(plainText(text), maxBytes).text
}

/** Marks untrusted data. The text cannot close the mark. */
export function fenced(text: string): string {
  return `<tool-output>\n${text.replaceAll('</tool-output', '<\\/tool-output')}\n</tool-output>`
}

const LINE_CHARACTERS = 2_000

/** As `    12  text`. */
export function numberedLines(lines: readonly string[], from: number): string {
  const width = String(from + lines.length).length
  return lines.map((line, at) => `${String(from + at).padStart(width)}  ${shortLine(plainText(line))}`).join('\n')
}

function shortLine(line: string): string {
  if (line.length <= LINE_CHARACTERS) return line
  return `${line.slice(0, LINE_CHARACTERS).toWellFormed()} [… ${groupDigits(line.length - LINE_CHARACTERS)} characters cut …]`
}
