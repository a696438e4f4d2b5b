/**
 * How one process of an installation asks another for a stream that runs there: `GET /internal/streams/{completion id}`
 * with the installation's token, the account, and the process that is meant. What is an answer for the client, a stream
 * or an error, is marked as one; any other status is between the processes.
 */
import { createHash, timingSafeEqual } from 'node:crypto'

export const RELAY_PATH = '/internal/streams/'
export const ACCOUNT_HEADER = 'x-turnpike-account'
export const INSTANCE_HEADER = 'x-turnpike-instance'
/** With the value `answer` on what is for the client. */
export const RELAY_HEADER = 'x-turnpike-relay'

/** The asked process is not the one that is meant: that one is gone. */
export const ANOTHER_INSTANCE = 410
/** It knows no such stream: it has ended. */
export const UNKNOWN_STREAM = 404

/** In constant time, whatever was sent. */
export function isToken(authorization: string | undefined, token: string): boolean {
  return timingSafeEqual(digest(authorization ?? ''), digest(`Bearer ${token}`))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
