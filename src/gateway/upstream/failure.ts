/**
 * Failures of calls: their messages, their word in `x-turnpike-route`, whether to retry, and the error for the
 * client.
 */
import type { FallbackReason } from '../../domain/completion.ts'
import { type ErrorCode, GatewayError } from '../../domain/errors.ts'
import { type FailureKind, ProviderError, type ProviderFailure } from '../../protocols/protocol.ts'

/** Converts the last failure to the error for the client, with `headers`. */
export function toGatewayError(
  error: unknown,
  providerName: string | undefined,
  headers?: Readonly<Record<string, string>>,
): GatewayError {
  if (!(error instanceof ProviderError)) return withDefaults(GatewayError.from(error), headers)
  const { failure } = error
  const code = CODES[failure.kind]
  const { retryAfterMs, param } = failure
  const retryable = PERMANENT.has(failure.kind) ? false : undefined
  const options = { cause: error, param: isOurs(code) ? undefined : param, retryAfterMs, headers, retryable }
  return new GatewayError(code, messageFor(failure, { code, providerName }), options)
}

interface OwnCall {
  readonly providerName: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Returns the error for a client whose account's own credential was refused or limited, which the account can fix and
 * the operator cannot. Undefined for every other failure.
 */
export function toOwnCredentialError(error: unknown, { providerName, headers }: OwnCall): GatewayError | undefined {
  if (!(error instanceof ProviderError)) return undefined
  const { kind, retryAfterMs } = error.failure
  const options = { cause: error, headers }
  if (kind === 'credentials') {
    const message = `The provider '${providerName}' refused your account's own credential. Rotate it, or delete it.`
    return new GatewayError('own_credential_refused', message, options)
  }
  if (kind === 'quota') {
    const message = `Your own account with the provider '${providerName}' is used up.`
    return new GatewayError('own_credential_refused', message, options)
  }
  if (kind !== 'rate_limited') return undefined
  const message = `The provider '${providerName}' is limiting the requests of your account's own credential.`
  return new GatewayError('provider_rate_limited', message, { ...options, retryAfterMs })
}

/** Adds headers to the error, whose own headers take precedence. */
function withDefaults(error: GatewayError, headers: Readonly<Record<string, string>> | undefined): GatewayError {
  return headers === undefined ? error : error.with({ headers: { ...headers, ...error.headers } })
}

/** Only the operator can resolve these failures: a repeated request fails in the same way. */
const PERMANENT: ReadonlySet<FailureKind> = new Set(['credentials', 'quota', 'not_found'])

/**
 * Returns whether the provider refused the credential or its account, without work; the request itself may be valid.
 */
export function isCredentialRefusal(error: unknown): boolean {
  return error instanceof ProviderError && (error.failure.kind === 'credentials' || error.failure.kind === 'quota')
}

/** Returns whether another call, to this target or another, may succeed. */
export function mayBeTriedElsewhere(error: unknown): boolean {
  return error instanceof ProviderError && !ABOUT_THE_REQUEST.has(error.failure.kind)
}

/** Returns whether the same target may succeed after a backoff. */
export function mayBeTriedAgain(error: unknown): boolean {
  return error instanceof ProviderError && TRANSIENT.has(error.failure.kind)
}

/** Undefined if no other model would answer either. */
export function fallbackReason(error: unknown): FallbackReason | undefined {
  if (!(error instanceof ProviderError)) return undefined
  const { kind, status } = error.failure
  if (kind !== 'failed') return REASONS[kind]
  if (status > 0) return 'server_error'
  const word = failureWord(error)
  return word === 'timeout' ? 'timeout' : word === 'connection' || word === 'cut' ? 'connection' : 'server_error'
}

const REASONS: Readonly<Record<Exclude<FailureKind, 'failed'>, FallbackReason | undefined>> = {
  rejected: undefined,
  context_length: 'context_length',
  content_filter: 'content_filter',
  credentials: 'unavailable',
  quota: 'unavailable',
  not_found: 'unavailable',
  rate_limited: 'overloaded',
  overloaded: 'overloaded',
}

/** Returns whether the provider rejected the request itself, so that other providers of the model would as well. */
export function isAboutRequest(error: unknown): boolean {
  return error instanceof ProviderError && ABOUT_THE_REQUEST.has(error.failure.kind)
}

const ABOUT_THE_REQUEST: ReadonlySet<FailureKind> = new Set(['rejected', 'context_length', 'content_filter'])
const TRANSIENT: ReadonlySet<FailureKind> = new Set(['rate_limited', 'overloaded', 'failed'])

const CODES: Readonly<Record<FailureKind, ErrorCode>> = {
  rejected: 'provider_rejected',
  context_length: 'context_length_exceeded',
  content_filter: 'content_filter',
  credentials: 'provider_credentials',
  quota: 'provider_credentials',
  rate_limited: 'provider_rate_limited',
  not_found: 'provider_error',
  overloaded: 'provider_error',
  failed: 'provider_error',
}

function isOurs(code: ErrorCode): boolean {
  return code !== 'provider_rejected' && code !== 'context_length_exceeded' && code !== 'content_filter'
}

/** Describes a failure for operators. It omits the provider's own text, which may quote the request. */
export function describeFailure(failure: ProviderFailure): string {
  return messageFor(failure, { code: 'provider_error', providerName: undefined })
}

/** Quotes the provider only if its message is about the client's request; other messages may be about our account. */
function messageFor(
  failure: ProviderFailure,
  { code, providerName }: { code: ErrorCode; providerName: string | undefined },
): string {
  if (!isOurs(code)) return failure.message === '' ? 'The provider refused the request.' : failure.message
  const provider = providerName === undefined ? 'The provider' : `The provider '${providerName}'`
  if (failure.kind === 'quota') return `The gateway's account with ${provider.replace('The', 'the')} is used up.`
  if (code === 'provider_credentials') return `${provider} did not accept the gateway's credential.`
  if (code === 'provider_rate_limited') return `${provider} is limiting the gateway's requests.`
  if (failure.kind === 'not_found') return `${provider} does not have this model.`
  if (failure.status >= 300) return `${provider} answered with status ${failure.status}.`
  if (failure.status > 0) return `${provider} reported an error.`
  return providerName === undefined ? failure.message : failure.message.replace('The provider', provider)
}

export const TOO_LARGE_MESSAGE = 'The answer is larger than the gateway accepts.'
export const CUT_MESSAGE = 'The connection to the provider broke before the end of the answer.'
export const UNFINISHED_MESSAGE = 'The provider answered without a finish reason.'
const CONNECTION_MESSAGE = 'The connection to the provider failed.'
/** The timeout of a call that expired. */
export type TimeoutKind = 'first_byte' | 'idle' | 'total'
const TIMEOUT_MESSAGES: Readonly<Record<TimeoutKind, string>> = {
  first_byte: 'The provider did not start to answer in time.',
  idle: 'The provider stopped sending.',
  total: 'The answer exceeded the total timeout.',
}

const WORDS: Readonly<Record<string, string>> = {
  [TOO_LARGE_MESSAGE]: 'too_large',
  [CUT_MESSAGE]: 'cut',
  [UNFINISHED_MESSAGE]: 'cut',
  [CONNECTION_MESSAGE]: 'connection',
  [TIMEOUT_MESSAGES.first_byte]: 'timeout',
  [TIMEOUT_MESSAGES.idle]: 'timeout',
  [TIMEOUT_MESSAGES.total]: 'timeout',
}

/**
 * Returns the word for a failure in `x-turnpike-route`. A failure without a status and without its own word is an
 * unreadable answer.
 */
export function failureWord({ failure }: ProviderError): string {
  return WORDS[failure.message] ?? 'malformed'
}

export function failed(message: string, cause?: unknown): ProviderError {
  return new ProviderError({ kind: 'failed', message, status: 0 }, { cause })
}

interface Circumstances {
  readonly expired: TimeoutKind | undefined
  readonly credential: string
}

/** Names a failure by its cause: the abort of an expired deadline must not look like a failure of the provider. */
export function nameFailure(error: unknown, { expired, credential }: Circumstances): ProviderError {
  if (expired !== undefined) return failed(TIMEOUT_MESSAGES[expired], error)
  if (error instanceof ProviderError) return withoutCredential(error, credential)
  return failed(CONNECTION_MESSAGE, error)
}

/** Shorter credentials, such as `none` and `ollama`, are ordinary words and stay in messages. */
const SHORTEST_SECRET = 8
const REDACTED = '[redacted]'

/** Removes the credential, whole or truncated, from a failure's message: some hosts quote what they received. */
function withoutCredential(error: ProviderError, credential: string): ProviderError {
  const { failure, cause } = error
  if (credential.length < SHORTEST_SECRET) return error
  const message = redact(failure.message, credential)
  const param = failure.param && redact(failure.param, credential)
  if (message === failure.message && param === failure.param) return error
  return new ProviderError({ ...failure, message, ...(param === undefined ? {} : { param }) }, { cause })
}

function redact(text: string, credential: string): string {
  const whole = text.replaceAll(credential, REDACTED)
  if (!whole.endsWith('…')) return whole
  const kept = whole.slice(0, -1)
  for (let length = credential.length - 1; length >= SHORTEST_SECRET; length--) {
    if (kept.endsWith(credential.slice(0, length))) return `${kept.slice(0, -length)}${REDACTED}…`
  }
  return whole
}

/*
 * A provider's error message as it is stored with an attempt. Its protocol has removed credentials; it may still quote
 * the request, and name people: what looks like them is left out, and who may read the rest is decided where it is
 * read.
 */

const SHOWN_LENGTH = 300
/** Of what is looked at, so that the work is bounded however much a provider sends. */
const READ_LENGTH = 2_000

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
