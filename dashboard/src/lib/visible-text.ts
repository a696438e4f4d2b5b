/**
 * Untrusted text (models, commands, repositories) as it may be read: what would act on the reader is dropped, and what
 * hides or turns the direction of writing is shown by its code point, so that nothing looks like what it is not.
 */

/** Sequences by which a terminal is told to do things (ECMA-48): CSI, OSC and other strings, then single escapes. */
const TERMINAL_SEQUENCES =
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?|\u009b[0-?]*[ -/]*[@-~]/g
/** From the first carriage return of a run, which is read once. */
const LINE_ENDS = /(?<!\r)\r+\n/g
/** Controls but tab and line feed; invisible characters; marks, overrides and isolates of direction; line separators. */
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu

/** Of several lines; how they end is not told. */
export function visibleText(text: string): string {
  return shown(text.replace(TERMINAL_SEQUENCES, '').replace(LINE_ENDS, '\n'))
}

/** Of one line as it is in a file: also a carriage return at its end is seen. */
export function visibleLine(line: string): string {
  return shown(line.replace(TERMINAL_SEQUENCES, (sequence) => sequence.replaceAll('\u001b', '\u241b')))
}

/** For names and titles: a line break is a space. */
export function visibleName(name: string): string {
  return visibleText(name).replace(/[\n\t]+/g, ' ')
}

function shown(text: string): string {
  return text.replace(UNSEEN, mark).toWellFormed()
}

/** Control pictures for ASCII, such as `␍`; for the others the code point, such as `[U+202E]`. */
function mark(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  if (code === 0x7f) return '\u2421'
  return `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`
}

/**
 * Where a link in text that a model or another person wrote may lead: another site, or a mail. Not to a script or a document
 * in the address, and not into this site, where a click would act for the person who is signed in.
 * @returns The address as a browser reads it; undefined where there is to be no link.
 */
export function safeLink(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const { protocol, href } = new URL(address)
  return protocol === 'https:' || protocol === 'http:' || protocol === 'mailto:' ? href : undefined
}
