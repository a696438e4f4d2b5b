/** Sends a message over SMTP. The library is loaded with the first one. */
import type { SmtpSettings } from '../recipients.ts'
import type { Answer } from './delivery.ts'
import type { Message } from './message.ts'

interface Mail {
  readonly smtp: SmtpSettings
  readonly to: string
  /** The same at every attempt: mail servers and readers recognize a repetition. */
  readonly messageId: string
  readonly message: Message
  readonly signal: AbortSignal
  readonly deadlineMs: number
}

/** Rejects with the signal's reason; what the mail server or the network causes is an answer. */
export async function sendMail({ smtp, to, messageId, message, signal, deadlineMs }: Mail): Promise<Answer> {
  const { createTransport } = await import('nodemailer')
  const { host, port, security, user, password, from } = smtp
  const transport = createTransport({
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    connectionTimeout: deadlineMs,
    greetingTimeout: deadlineMs,
    socketTimeout: deadlineMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
  })
  const stopped = stopOf(signal, deadlineMs)
  try {
    const sent = transport.sendMail({
      from,
      to: { name: '', address: to },
      messageId: `<${messageId}@${from.slice(from.lastIndexOf('@') + 1).replace(/[^\w.-]/g, '')}>`,
      subject: message.subject,
      text: `${message.lines.join('\n')}\n`,
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
    const { response } = await Promise.race([sent, stopped.promise])
    return { status: Number(response.slice(0, 3)), error: undefined, text: undefined }
  } catch (error) {
    if (signal.aborted && error === signal.reason) throw error
    return failureOf(error)
  } finally {
    stopped.end()
    transport.close()
  }
}

/** @returns A promise that rejects when the signal aborts or the time is over. */
function stopOf(signal: AbortSignal, deadlineMs: number): { readonly promise: Promise<never>; end(): void } {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => undefined) // after the race is over
  const stop = (): void => reject(signal.reason)
  const timer = setTimeout(() => reject(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })), deadlineMs)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  return {
    promise,
    end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
    },
  }
}

/** By error code of the library. The server's own words may name what only the operator should know. */
const TEXTS: Readonly<Record<string, string>> = {
  EAUTH: 'mail server: authentication failed',
  ETLS: 'mail server: TLS failed',
  ETIMEDOUT: 'timeout',
  EDNS: 'mail server: name not found',
}

function failureOf(error: unknown): Answer {
  const { code = '', responseCode } = error as { readonly code?: string; readonly responseCode?: number } // of the library
  const known = TEXTS[code]
  const text = known ?? (responseCode === undefined ? 'mail server: connection failed' : `status ${responseCode}`)
  return { status: responseCode, error: text, text: undefined }
}
