/** What came of an attempt to deliver, in words. */
import { formatMs } from '../../lib/format.ts'

interface Attempted {
  readonly status_code: number | null
  /** null: it did not fail. */
  readonly error: string | null
  readonly duration_ms: number
}

/** `200 in 43 ms`, `connection refused after 3 ms`. */
export function outcomeOf({ status_code: code, error, duration_ms: ms }: Attempted): string {
  if (error === null) return `${code ?? 'answered'} in ${formatMs(ms)}`
  if (error === `status ${code}`) return `${code} in ${formatMs(ms)}`
  return `${error}${code === null ? '' : ` (${code})`} after ${formatMs(ms)}`
}

const GONE = 'status 410'

const REASONS: Readonly<Record<string, string>> = {
  redirect: 'The receiver sent it elsewhere. Redirects are not followed: give the address where they lead.',
  timeout: 'No complete answer came within 10 seconds. Receivers answer first and work afterwards.',
  'connection refused': 'Nothing listens at this address and port.',
  'connection closed': 'The connection was closed before the answer was complete.',
  'address unreachable': 'There is no way to this address from here.',
  'address not allowed': 'The address is a private one, or of a kind that webhooks are not sent to.',
  'name not found': 'The name of the host has no address.',
  'invalid answer': 'What came back was not HTTP.',
  'headers too large': 'The headers of the answer were too large.',
  'secret unreadable': 'The secret of this endpoint cannot be read on this installation. Rotate it.',
  'internal error': 'The gateway itself failed. Its log says why.',
  'interrupted too often': 'The gateway was stopped in the middle of this too many times.',
  endpoint_disabled: 'The endpoint was disabled when this was due.',
  [GONE]: 'The receiver answered 410: it wants nothing more. The endpoint was disabled.',
}

/** Why an attempt failed and what helps, as a sentence; a word that is new is shown as it is. */
export function reasonOf(error: string): string {
  const known = REASONS[error]
  if (known !== undefined) return known
  const [, status] = /^status (\d{3})$/.exec(error) ?? []
  if (status !== undefined) return `The receiver answered ${status}. Only 2xx counts as delivered.`
  const [, fault] = /^TLS: (.+)$/.exec(error) ?? []
  if (fault !== undefined) return `No secure connection could be made: ${fault}.`
  return error
}
