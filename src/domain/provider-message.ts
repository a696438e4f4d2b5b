/**
 * A provider's error message as it is stored with an attempt. Its protocol has removed credentials; it may still quote the
 * request, and name people: what looks like them is left out, and who may read the rest is decided where it is read.
 */

const SHOWN_LENGTH = 300
/** Of what is looked at, so that the work is bounded however much a provider sends. */
const READ_LENGTH = 2_000
const REDACTED = '[redacted]'

/** One line of at most 300 characters; undefined when nothing is left to read. */
export function redactProviderMessage(message: string): string | undefined {
  const text = message
    .slice(0, READ_LENGTH)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/"[^"]*"|`[^`]*`|“[^”]*”|(?<!\w)'[^']*'(?!\w)/g, withoutProse)
    .replaceAll(/\{[^{}]*\}/g, REDACTED)
    .replaceAll(/[^\s@<>]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/g, REDACTED)
    .replaceAll(/[A-Za-z0-9+/_=-]{16,}/g, withoutRandom)
    .trim()
  if (text === '') return undefined
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH - 1)}…` : text
}

const NAME_LENGTH = 64

/** A quoted name stays: a model, a parameter. Several words, or a long one, are of the request. */
function withoutProse(quoted: string): string {
  return quoted.length > NAME_LENGTH || quoted.includes(' ') ? REDACTED : quoted
}

/** Words of upper and lower case letters with digits, and long hexadecimal ones, are not of any language. */
function withoutRandom(word: string): string {
  const isMixed = /[a-z]/.test(word) && /[A-Z]/.test(word) && /\d/.test(word)
  return isMixed || /^[\da-f-]{32,}$/i.test(word) ? REDACTED : word
}
