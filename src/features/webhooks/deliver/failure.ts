/** Why an attempt failed, in words that stay the same: they are shown, and people search for them. */
import { GatewayError } from '../../../domain/errors.ts'
import { TargetRefusedError } from '../../../http/guarded-agent.ts'

/** The answer was not complete when its time was over. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

const UNREACHABLE = 'address unreachable'
const CLOSED = 'connection closed'
const INVALID = 'invalid answer'
const UNKNOWN_NAME = 'name not found'

/** By the code of the error. */
const TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  UND_ERR_CLOSED: CLOSED,
  UND_ERR_DESTROYED: CLOSED,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EADDRNOTAVAIL: UNREACHABLE,
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'headers too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: CLOSED,
}
const NAME_CODES = /^E(?:NOTFOUND|NODATA|AI_AGAIN|SERVFAIL|TIMEOUT|FORMERR|BADRESP|BADNAME|NONAME)$/
const CERTIFICATE_CODES =
  /^(?:CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_(?:CA|PURPOSE)|HOSTNAME_MISMATCH|ERROR_IN_CERT|PATH_LENGTH)/
/** An error, what it was made of, and so on. */
const DEPTH = 3

/** @returns Undefined for what is not the receiver's doing, nor the network's. */
export function attemptFailure(error: unknown): string | undefined {
  for (let cause = error, depth = 0; depth < DEPTH && cause instanceof Error; cause = cause.cause, depth++) {
    const text = textOf(cause)
    if (text !== undefined) return text
  }
  return undefined
}

function textOf(error: Error): string | undefined {
  if (error instanceof DeadlineError) return 'timeout'
  if (error instanceof TargetRefusedError || isRefusal(error)) return 'address not allowed'
  const code = codeOf(error)
  // Whoever asks a name server gets the same codes as whoever connects.
  if ('syscall' in error && /^(?:query|getaddrinfo)/.test(String(error.syscall))) return UNKNOWN_NAME
  const known = TEXTS[code]
  if (known !== undefined) return known
  if (NAME_CODES.test(code)) return UNKNOWN_NAME
  if (code.startsWith('ERR_TLS_') || CERTIFICATE_CODES.test(code)) return `TLS: ${certificateText(code)}`
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return 'TLS: handshake failed'
  // undici's words for what is no HTTP; some of its errors have no code.
  return code.startsWith('UND_ERR_') || error.name === 'HTTPParserError' ? INVALID : undefined
}

/** What `checkTarget` throws. */
function isRefusal(error: Error): boolean {
  return error instanceof GatewayError && error.code === 'invalid_value'
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : ''
}

function certificateText(code: string): string {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH') return 'certificate of another name'
  if (code === 'CERT_HAS_EXPIRED') return 'certificate expired'
  if (code === 'CERT_NOT_YET_VALID') return 'certificate not yet valid'
  if (code === 'CERT_REVOKED') return 'certificate revoked'
  return code.startsWith('ERR_TLS_') ? 'handshake failed' : 'certificate not trusted'
}
