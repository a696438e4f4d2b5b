/** Why a sign-in failed: as an error, in the log, and on the page that the visitor reads. */
import { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client'
import type { Outcome } from '../../http/pages/layout.ts'

/** Form of OAuth's error codes. Anything else appears on no page and in no log. */
const ERROR_CODE = /^[a-z_]{1,40}$/

export type FailureKind =
  | 'cancelled'
  | 'refused by provider'
  | 'expired'
  | 'mismatch'
  | 'unavailable'
  | 'busy'
  | 'untrusted'
  | 'misregistered'
  | 'no e-mail'

export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly kind: FailureKind
  /** Contains at most an error code of the provider; never a token, code or state. */
  readonly reason: string

  constructor(kind: FailureKind, reason: string) {
    super(`${kind}: ${reason}`)
    this.kind = kind
    this.reason = reason
  }
}

/** Why a verified identity may not sign in by its e-mail address. */
export type DomainRefusal = 'unverified' | 'domain'

export type OutcomeKind = FailureKind | DomainRefusal | 'no account' | 'disabled' | 'unknown provider'

interface OutcomeDetails {
  /** Name of the identity provider, as on its button. */
  readonly provider: string
  /** The provider's error code, or the rejected e-mail address. */
  readonly detail: string | undefined
}

/** @param next The path that the visitor requested. */
export function outcomeOf(
  kind: OutcomeKind,
  details: OutcomeDetails,
  next: string,
): { readonly status: number; readonly outcome: Outcome } {
  const { status, title, text } = OUTCOMES[kind]
  const href = `/sign-in?next=${encodeURIComponent(next)}`
  return { status, outcome: { title, text: text(details), action: { href, label: 'Start again' }, sign: 'bad' } }
}

interface OutcomePage {
  readonly status: number
  readonly title: string
  readonly text: (details: OutcomeDetails) => string
}

const ASK_OPERATOR = 'If this continues, contact the operator of this installation.'

const OUTCOMES: Readonly<Record<OutcomeKind, OutcomePage>> = {
  cancelled: {
    status: 403,
    title: 'You were not signed in',
    text: ({ provider }) => `The sign-in was cancelled or rejected at ${provider}.`,
  },
  'refused by provider': {
    status: 403,
    title: 'You were not signed in',
    text: ({ provider, detail }) => `${provider} did not sign you in${detail === undefined ? '' : ` (${detail})`}.`,
  },
  expired: {
    status: 400,
    title: 'This sign-in has expired',
    text: () =>
      'It took longer than ten minutes, was used already, or started in another browser. Start again, and allow cookies of this site.',
  },
  mismatch: {
    status: 400,
    title: 'This sign-in does not match',
    text: () =>
      'You may have started another sign-in in a second window. For your safety, you were not signed in. Start again.',
  },
  unavailable: {
    status: 503,
    title: 'Sign-in is currently unavailable',
    text: ({ provider }) => `${provider} does not respond. Existing sessions stay signed in. Try again in a minute.`,
  },
  busy: {
    status: 503,
    title: 'Sign-in is currently unavailable',
    text: () => 'Too many people are signing in. Try again in a minute.',
  },
  untrusted: {
    status: 502,
    title: 'You were not signed in',
    text: ({ provider }) => `The response of ${provider} failed verification. Try again. ${ASK_OPERATOR}`,
  },
  misregistered: {
    status: 502,
    title: 'You were not signed in',
    text: ({ provider }) => `The configuration of ${provider} and this installation does not match. ${ASK_OPERATOR}`,
  },
  'no e-mail': {
    status: 403,
    title: 'Your e-mail address is missing',
    text: ({ provider }) =>
      `${provider} reported no verified e-mail address. Verify one there, allow access to it, and try again.`,
  },
  unverified: {
    status: 403,
    title: 'Your e-mail address is not verified',
    text: ({ provider, detail }) => `${provider} has not verified ${detail}, and only some domains can sign in here.`,
  },
  domain: {
    status: 403,
    title: 'This e-mail address cannot sign in here',
    text: ({ detail }) => `The domain of ${detail} is not allowed here. Use another address, or ask for an invitation.`,
  },
  'no account': {
    status: 403,
    title: 'You are not a member yet',
    text: ({ detail }) => `${detail} is not a member of an account. Ask a member for an invitation, and open its link.`,
  },
  disabled: {
    status: 403,
    title: 'You cannot sign in',
    text: () => `Your access is disabled. ${ASK_OPERATOR}`,
  },
  'unknown provider': {
    status: 404,
    title: 'Unknown identity provider',
    text: () => 'The link is wrong, or the identity provider is no longer configured.',
  },
}

function safeCode(code: unknown): string {
  return typeof code === 'string' && ERROR_CODE.test(code) ? code : 'unreadable error code'
}

/** Kinds of the errors of an authorization response (RFC 6749, 4.1.2.1). All others are rejections by the provider. */
const RESPONSE_ERRORS: ReadonlyMap<string, FailureKind> = new Map([
  ['access_denied', 'cancelled'],
  ['temporarily_unavailable', 'unavailable'],
  ['server_error', 'unavailable'],
  ['unauthorized_client', 'misregistered'],
  ['invalid_client', 'misregistered'],
])

/** Kinds of the errors of the token endpoint (RFC 6749, 5.2). An invalid code was used before, or has expired. */
const TOKEN_ERRORS: ReadonlyMap<string, FailureKind> = new Map([
  ['invalid_grant', 'expired'],
  ['invalid_client', 'misregistered'],
  ['unauthorized_client', 'misregistered'],
])

/** Converts an error of `openid-client` without its causes, which contain bodies, claims and parameters. */
export function toSignInError(error: unknown): SignInError {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (at instanceof SignInError) return at
  if (error instanceof AuthorizationResponseError) {
    return new SignInError(RESPONSE_ERRORS.get(error.error) ?? 'refused by provider', safeCode(error.error))
  }
  if (error instanceof ResponseBodyError) {
    return new SignInError(TOKEN_ERRORS.get(error.error) ?? 'untrusted', safeCode(error.error))
  }
  if (error instanceof WWWAuthenticateChallengeError) return new SignInError('misregistered', 'credentials refused')
  return new SignInError('untrusted', reasonOf(error))
}

/** Messages of the library with a code are constant; text of the provider is only in their causes. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (!('code' in error)) return error.name
  const { cause } = error
  return cause instanceof Error && 'code' in cause ? `${error.message} (${cause.message})` : error.message
}
