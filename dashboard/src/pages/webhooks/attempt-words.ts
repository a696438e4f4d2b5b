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
  redirect: 'The receiver redirected the request. Redirects are not followed: set their target as the endpoint URL.',
  timeout: 'No complete response within 10 seconds. Respond first, and process the event afterwards.',
  'connection refused': 'No server listens on this address and port.',
  'connection closed': 'The connection closed before the response was complete.',
  'address unreachable': 'No route to host.',
  'address not allowed': 'The address is private or reserved.',
  'name not found': 'Host not found.',
  'invalid answer': 'The response was not HTTP.',
  'headers too large': 'The response headers were too large.',
  'secret unreadable': 'This installation cannot decrypt the secret of this endpoint. Rotate it.',
  'internal error': 'The gateway failed. Its log has the cause.',
  'interrupted too often': 'The gateway stopped too often during this delivery.',
  endpoint_disabled: 'The endpoint was disabled when the attempt was due.',
  [GONE]: 'The receiver answered 410 Gone. The endpoint was disabled.',
}

/** Why an attempt failed and what helps, as a sentence; a word that is new is shown as it is. */
export function reasonOf(error: string): string {
  const known = REASONS[error]
  if (known !== undefined) return known
  const [, status] = /^status (\d{3})$/.exec(error) ?? []
  if (status !== undefined) return `The receiver answered ${status}. Only 2xx counts as delivered.`
  const [, fault] = /^TLS: (.+)$/.exec(error) ?? []
  if (fault !== undefined) return `TLS connection failed: ${fault}.`
  return error
}
