/**
 * One attempt of a delivery: signs the body, and posts it to an address that is allowed now, within one deadline over name
 * resolution, connection, head and body. Responses are read up to a limit; redirects are not followed.
 */
import type { Kysely } from 'kysely'
import type { Agent, Dispatcher } from 'undici'
import type { Database } from '../../../db/schema/schema.ts'
import { GatewayError } from '../../../domain/errors.ts'
import type { AccountId, WebhookId } from '../../../domain/ids.ts'
import { signWebhook } from '../../../domain/webhook-signature.ts'
import { JobInterrupted } from '../../../jobs/job.ts'
import { carriable } from '../../../jobs/sql.ts'
import {
  checkTarget,
  createGuardedAgent,
  type GuardedAgentOptions,
  TargetRefusedError,
} from '../../../net/guarded-agent.ts'
import { webhookBodyOf, webhookEventOf } from '../events.ts'
import { type MailRules, mayReceiveMail, recipientOf } from '../recipients.ts'
import type { WebhookSecrets } from '../secrets.ts'
import type { Answer, Attempt, Delivery } from './delivery.ts'
import { messageOf, sendMail, slackPayload } from './message.ts'

/** Attempts without a response by then are released, and another process repeats them. */
const STOP_GRACE_MS = 8_000

export interface AttemptInput {
  readonly db: Kysely<Database>
  /** From the current configuration. Absent: no e-mail. */
  readonly mail?: (() => MailRules) | undefined
  /** In links of messages, without trailing slash. */
  readonly publicUrl?: string | undefined
  readonly outbound: Outbound
  readonly secrets: Pick<WebhookSecrets, 'open'>
  /** Of the program. */
  readonly version: string
  /** Unix milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly deadlineMs?: number | undefined
  /** Time for running attempts when the process stops. */
  readonly stopGraceMs?: number | undefined
  /** Receives errors that neither the receiver nor the network caused. */
  readonly onError: (error: unknown, of: { readonly accountId: AccountId; readonly webhookId: WebhookId }) => void
}

/** Rejects only with the reason of the signal: another process has the attempt, or it will be repeated. */
export async function makeAttempt(input: AttemptInput, delivery: Delivery, signal: AbortSignal): Promise<Attempt> {
  const { now, clock, deadlineMs = DEADLINE_MS, stopGraceMs = STOP_GRACE_MS } = input
  signal.throwIfAborted()
  const startedAt = now()
  const begunAt = clock()
  const grace = untilGivenUp(signal, stopGraceMs)
  const answer = await send(input, delivery, { startedAt, signal: grace.signal, deadlineMs })
    .catch((error: unknown) => failedAnswer(input, delivery, error))
    .finally(grace.end)
  return { ...answer, startedAt, durationMs: Math.max(0, Math.round(clock() - begunAt)) }
}

interface Sending {
  readonly startedAt: number
  readonly signal: AbortSignal
  readonly deadlineMs: number
}

async function send(input: AttemptInput, delivery: Delivery, sending: Sending): Promise<Answer> {
  const { startedAt, signal, deadlineMs } = sending
  const { kind } = delivery.webhook
  if (kind === 'email') return sendAsMail(input, delivery, sending)
  const { agent, allowPrivateNetworks } = input.outbound.current()
  const secrets = secretsOf(input, delivery, startedAt)
  const [secret] = secrets
  if (secret === undefined) return notSent('secret unreadable')
  const url = checkTarget(kind === 'slack' ? secret : delivery.webhook.url, { allowPrivateNetworks })
  if (kind === 'slack') {
    const body = Buffer.from(slackPayload(messageOf(webhookEventOf(delivery.event), dashboardOf(input))))
    return post(agent, { url, headers: headersOf(input), body }, { signal, deadlineMs })
  }
  const body = Buffer.from(webhookBodyOf(delivery.event))
  const headers = {
    ...headersOf(input),
    ...signWebhook({ id: delivery.event.id, timestamp: Math.floor(startedAt / 1_000), body, secrets }),
  }
  return post(agent, { url, headers, body }, { signal, deadlineMs })
}

function headersOf({ version }: AttemptInput) {
  return { 'content-type': 'application/json', 'user-agent': `Turnpike-Webhooks/${version}` }
}

function notSent(error: string): Answer {
  return { status: undefined, error, text: undefined }
}

function dashboardOf({ publicUrl = '' }: AttemptInput): string {
  return `${publicUrl}/app/`
}

/** The recipient is checked again: members leave. */
async function sendAsMail(input: AttemptInput, delivery: Delivery, { signal, deadlineMs }: Sending): Promise<Answer> {
  const { payload, webhook, event } = delivery
  const rules = input.mail?.()
  const to = recipientOf(webhook.url)
  if (rules?.smtp === undefined || to === undefined) return notSent('e-mail is not configured')
  const recipient = { accountId: payload.accountId, address: to, domains: rules.recipientDomains }
  if (!(await mayReceiveMail(input.db, recipient))) return notSent('recipient not allowed')
  const message = messageOf(webhookEventOf(event), dashboardOf(input))
  return sendMail({ smtp: rules.smtp, to, messageId: `${event.id}.${payload.webhookId}`, message, signal, deadlineMs })
}

function failedAnswer(input: AttemptInput, { payload }: Delivery, error: unknown): Answer {
  if (error instanceof JobInterrupted) throw error
  const text = attemptFailure(error)
  if (text === undefined) input.onError(error, payload)
  return { status: undefined, error: text ?? 'internal error', text: undefined }
}

/** The newest first. */
function secretsOf({ secrets }: AttemptInput, { payload, webhook }: Delivery, now: number): readonly string[] {
  const { secret, previous_secret: previous, previous_until: until } = webhook
  const isOverlapping = previous !== null && until !== null && until > now
  const sealed = isOverlapping ? [secret, previous] : [secret]
  return sealed.flatMap((each) => secrets.open(each, payload.webhookId) ?? [])
}

/** Returns a signal that aborts at once when the job's lease is lost, and `stopGraceMs` after this process starts to stop. */
function untilGivenUp(signal: AbortSignal, stopGraceMs: number): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const giveUp = (): void => controller.abort(signal.reason)
  const onAbort = (): void => {
    const isLost = signal.reason instanceof JobInterrupted && signal.reason.reason === 'lost'
    if (isLost) giveUp()
    else timer ??= setTimeout(giveUp, stopGraceMs)
  }
  signal.addEventListener('abort', onAbort)
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    },
  }
}

/** Deadline of connection, head and body together. */
export const DEADLINE_MS = 10_000
/** Maximum bytes read of a response body; then the connection is closed. */
const READ_BYTES = 20_000
/** Maximum bytes stored of a response body. */
const KEPT_BYTES = 4_096

interface Outgoing {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

interface PostOptions {
  /** Aborted: the request is not sent if it has not started, and the response is no longer awaited. */
  readonly signal: AbortSignal
  readonly deadlineMs: number
}

/** Rejects with the signal's reason, and with errors that neither the receiver nor the network caused. */
export function post(dispatcher: Dispatcher, outgoing: Outgoing, options: PostOptions): Promise<Answer> {
  const { signal, deadlineMs } = options
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const exchange = createExchange(resolve, reject)
  const interrupt = (): void => exchange.end(signal.reason)
  const deadline = setTimeout(() => exchange.end(new DeadlineError('The answer was not complete in time.')), deadlineMs)
  signal.addEventListener('abort', interrupt)
  if (signal.aborted) interrupt()
  else dispatch(dispatcher, outgoing, exchange)
  return promise.finally(() => {
    clearTimeout(deadline)
    signal.removeEventListener('abort', interrupt)
  })
}

function dispatch(dispatcher: Dispatcher, { url, headers, body }: Outgoing, { handler, end }: Exchange): void {
  const { origin, pathname, search } = url
  try {
    dispatcher.dispatch({ origin, path: pathname + search, method: 'POST', headers, body }, handler)
  } catch (error) {
    end(error)
  }
}

interface Exchange {
  readonly handler: Dispatcher.DispatchHandler
  /** Ends the exchange for a reason of the sender. */
  end(reason: unknown): void
}

function createExchange(resolve: (answer: Answer) => void, reject: (error: unknown) => void): Exchange {
  let controller: Dispatcher.DispatchController | undefined
  let stopped: Error | undefined
  let status: number | undefined
  let read = 0
  const kept: Uint8Array[] = []
  const succeed = (): void => resolve({ status, error: failureOf(status), text: decodeText(kept) })
  const fail = (error: unknown): void => {
    const text = attemptFailure(error)
    if (text === undefined) reject(error)
    else resolve({ status, error: text, text: status === undefined ? undefined : decodeText(kept) })
  }
  const stop = (reason: unknown): void => {
    stopped = reason instanceof Error ? reason : new Error(String(reason))
    controller?.abort(stopped)
  }
  return {
    end(reason) {
      fail(reason)
      stop(reason)
    },
    handler: {
      onRequestStart(given) {
        controller = given
        if (stopped !== undefined) given.abort(stopped) // before the request is written
      },
      onResponseStart(_controller, code) {
        if (code >= 200) status = code // informational responses precede the final one
      },
      onResponseData(_controller, chunk) {
        if (read < KEPT_BYTES) kept.push(Uint8Array.from(chunk.subarray(0, KEPT_BYTES - read)))
        read += chunk.length
        if (read <= READ_BYTES) return
        succeed()
        stop(new Error('The answer is longer than what is read of it.'))
      },
      onResponseEnd: succeed,
      onResponseError: (_controller, error) => fail(error),
    },
  }
}

function failureOf(status = 0): string | undefined {
  if (status >= 200 && status < 300) return undefined
  return status >= 300 && status < 400 ? 'redirect' : `status ${status}`
}

/** Omits a character that is truncated at the end. */
function decodeText(pieces: readonly Uint8Array[]): string {
  return carriable(new TextDecoder().decode(Buffer.concat(pieces), { stream: true }))
}

/** The response was not complete by the deadline. */
class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

const UNREACHABLE = 'address unreachable'
const CLOSED = 'connection closed'
const INVALID = 'invalid answer'
const UNKNOWN_NAME = 'name not found'

/** Texts by error code. */
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
/** Maximum length of the chain of causes. */
const DEPTH = 3

/** @returns Undefined for errors that neither the receiver nor the network caused. */
function attemptFailure(error: unknown): string | undefined {
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
  // Name resolution and connections use the same codes.
  if ('syscall' in error && /^(?:query|getaddrinfo)/.test(String(error.syscall))) return UNKNOWN_NAME
  const known = TEXTS[code]
  if (known !== undefined) return known
  if (NAME_CODES.test(code)) return UNKNOWN_NAME
  if (code.startsWith('ERR_TLS_') || CERTIFICATE_CODES.test(code)) return `TLS: ${certificateText(code)}`
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return 'TLS: handshake failed'
  // undici's errors for invalid HTTP; some have no code.
  return code.startsWith('UND_ERR_') || error.name === 'HTTPParserError' ? INVALID : undefined
}

/** Whether `checkTarget` threw the error. */
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

interface OutboundOptions extends Omit<GuardedAgentOptions, 'allowPrivateNetworks' | 'connections'> {
  /** From the current configuration. */
  readonly allowPrivateNetworks: () => boolean
}

interface Outbound {
  /** Returns the agent of the current rule. */
  current(): { readonly agent: Agent; readonly allowPrivateNetworks: boolean }
  close(): Promise<void>
}

/** A changed rule replaces the agent: the previous one finishes its requests and closes its connections. */
export function createOutbound({ allowPrivateNetworks: allowed, ...options }: OutboundOptions): Outbound {
  let rule = allowed()
  let agent = createGuardedAgent({ ...options, allowPrivateNetworks: rule })
  return {
    current() {
      const allowPrivateNetworks = allowed()
      if (allowPrivateNetworks !== rule) {
        agent.close().catch(() => undefined)
        rule = allowPrivateNetworks
        agent = createGuardedAgent({ ...options, allowPrivateNetworks })
      }
      return { agent, allowPrivateNetworks }
    },
    close: () => agent.destroy(),
  }
}
