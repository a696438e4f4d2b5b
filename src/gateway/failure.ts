import { type ErrorCode, GatewayError } from '../domain/errors.ts'
import { type FailureKind, ProviderError, type ProviderFailure } from '../protocols/protocol.ts'

/** What a client is told of a provider's failure, once nothing more will be tried. `headers` go with it. */
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

/** The same error; its own headers win. */
function withDefaults(error: GatewayError, headers: Readonly<Record<string, string>> | undefined): GatewayError {
  return headers === undefined ? error : error.withHeaders({ ...headers, ...error.headers })
}

/** Only the operator can mend these: a client that repeats the request gets the same answer. */
const PERMANENT: ReadonlySet<FailureKind> = new Set(['credentials', 'quota', 'not_found'])

/** The provider refused the gateway's credential or its account: it did no work, and says nothing about the request. */
export function isCredentialRefusal(error: unknown): boolean {
  return error instanceof ProviderError && (error.failure.kind === 'credentials' || error.failure.kind === 'quota')
}

/** Whether another call, to this target or another, may do better. */
export function mayBeTriedElsewhere(error: unknown): boolean {
  return error instanceof ProviderError && !ABOUT_THE_REQUEST.has(error.failure.kind)
}

/** Whether the same target may do better after a moment. */
export function mayBeTriedAgain(error: unknown): boolean {
  return error instanceof ProviderError && TRANSIENT.has(error.failure.kind)
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

/** For operators, without a word of the provider's: it may quote what it was sent. */
export function describeFailure(failure: ProviderFailure): string {
  return messageFor(failure, { code: 'provider_error', providerName: undefined })
}

/** The provider's own words only where they are about the client's request; otherwise they may tell of our account. */
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
