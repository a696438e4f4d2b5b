/** What is shown of a provider's own words about a failure. */

const MAX_MESSAGE_LENGTH = 500

/**
 * The message in one readable line of at most 500 characters, or the status in our words where the provider gave none
 * that can be shown.
 * @param said The provider's message; pages in HTML are none. @param status Of the answer, or better.
 * @param redact Takes out what identifies an account of ours at this provider.
 */
export function failureMessage(said: string | undefined, status: number, redact: (line: string) => string): string {
  const shown = said === undefined ? '' : clean(said, redact)
  if (shown !== '') return shown
  return status < 300 ? 'The provider reported an error.' : `The provider answered with status ${status}.`
}

function clean(message: string, redact: (line: string) => string): string {
  if (/^\s*<|<html|<!doctype/i.test(message)) return ''
  const line = message
    .slice(0, 4 * MAX_MESSAGE_LENGTH)
    .replace(/\s+/g, ' ')
    .trim()
  const safe = redact(line)
  return safe.length > MAX_MESSAGE_LENGTH ? `${safe.slice(0, MAX_MESSAGE_LENGTH - 1)}…` : safe
}
