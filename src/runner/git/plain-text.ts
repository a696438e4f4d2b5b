/** Sequences by which a terminal is told to do things (ECMA-48): CSI, OSC and other strings, then single escapes. */
const TERMINAL_SEQUENCES =
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?/g
/** Controls but line feed and tab; what is invisible, or turns the direction of writing. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
const REDACTED = '[redacted]'

/** @returns the text as a log, a terminal or a page may show it: each line by itself, and nothing acts on the reader. */
export function plainText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(TERMINAL_SEQUENCES, '').replace(UNSEEN, '').toWellFormed()
}

/** @param secrets Are looked for as they are, and in the forms in which programs pass them on. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret !== '')
    .flatMap((secret) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')])
    .reduce((cleaned, form) => cleaned.replaceAll(form, REDACTED), text)
}
