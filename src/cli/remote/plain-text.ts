/**
 * Text of others for a terminal: what a model, a server or a person wrote must not steer it. Whatever could begin an escape
 * sequence, overwrite what is there, or turn the direction of reading around is left out.
 */

const BREAKS = /\r\n?/g
/** C0 but tab and line feed, DEL, C1; marks, embeddings, overrides and isolates of direction. */
const STEERING = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Keeps tabs and line breaks. Right for any piece of a text, wherever it was cut. */
export function plainText(text: string): string {
  return text.replace(BREAKS, '\n').replace(STEERING, '')
}

/** On one line, for tables and messages. */
export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, ' ').trim()
}

/** JSON on one line, with every character escaped that a terminal could take for a command. */
export function jsonLine(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(value).replace(STEERING, escaped)}\n`
}
