/** Why a sign-in failed: as an error, in the log, and on the page that the visitor reads. */
import { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client'
import type { Outcome } from '../../http/pages/layout.ts'

/** The form of OAuth's error codes; anything else appears on no page and in no log. */
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
  /** Of the provider's own words at most an error code; never a token, a code, a state. */
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
  /** Of the identity provider, as on its button. */
  readonly provider: string
  /** The provider's error code, or the e-mail address that was refused. */
  readonly detail: string | undefined
}

/** @param next Where the visitor wanted to go. */
export function outcomeOf(
  kind: OutcomeKind,
  details: OutcomeDetails,
  next: string,
): { readonly status: number; readonly outcome: Outcome } {
  const { status, title, text } = OUTCOMES[kind]
  const href = `/sign-in?next=${encodeURIComponent(next)}`
  return { status, outcome: { title, text: text(details), action: { href, label: 'Begin again' }, sign: 'bad' } }
}

interface OutcomePage {
  readonly status: number
  readonly title: string
  readonly text: (details: OutcomeDetails) => string
}

const ASK_OPERATOR = 'If it stays so, ask whoever runs this installation.'

const OUTCOMES: Readonly<Record<OutcomeKind, OutcomePage>> = {
  cancelled: {
    status: 403,
    title: 'You were not signed in',
    text: ({ provider }) => `The sign-in was cancelled or refused at ${provider}.`,
  },
  'refused by provider': {
    status: 403,
    title: 'You were not signed in',
    text: ({ provider, detail }) => `${provider} did not sign you in${detail === undefined ? '' : ` (${detail})`}.`,
  },
  expired: {
    status: 400,
    title: 'This sign-in is over',
    text: () =>
      'It took longer than ten minutes, was used already, or was begun in another browser. Begin again, and allow this site its cookies.',
  },
  mismatch: {
    status: 400,
    title: 'This sign-in is not the one you began',
    text: () => 'Perhaps you began another in a second window. For your safety nobody was signed in. Begin again.',
  },
  unavailable: {
    status: 503,
    title: 'Signing in is not possible right now',
    text: ({ provider }) =>
      `${provider} does not answer. Whoever is signed in already stays signed in. Try again in a minute.`,
  },
  busy: {
    status: 503,
    title: 'Signing in is not possible right now',
    text: () => 'Too many people are signing in at this moment. Try again in a minute.',
  },
  untrusted: {
    status: 502,
    title: 'You were not signed in',
    text: ({ provider }) => `What ${provider} answered did not pass the checks. Try again. ${ASK_OPERATOR}`,
  },
  misregistered: {
    status: 502,
    title: 'You were not signed in',
    text: ({ provider }) => `${provider} and this installation are not set up for each other. ${ASK_OPERATOR}`,
  },
  'no e-mail': {
    status: 403,
    title: 'Your e-mail address is missing',
    text: ({ provider }) =>
      `${provider} told no e-mail address of yours that is verified. Verify one there, allow it to be told, and try again.`,
  },
  unverified: {
    status: 403,
    title: 'Your e-mail address is not verified',
    text: ({ provider, detail }) => `${provider} does not vouch for ${detail}, and only some domains may sign in here.`,
  },
  domain: {
    status: 403,
    title: 'This e-mail address may not sign in here',
    text: ({ detail }) => `${detail} is not of a domain that is allowed here. Use another, or ask for an invitation.`,
  },
  'no account': {
    status: 403,
    title: 'You are not a member yet',
    text: ({ detail }) => `${detail} belongs to no account here. Ask a member for an invitation, and open its link.`,
  },
  disabled: {
    status: 403,
    title: 'You cannot sign in',
    text: () => `Your access was switched off. ${ASK_OPERATOR}`,
  },
  'unknown provider': {
    status: 404,
    title: 'There is no such way to sign in',
    text: () => 'The link is wrong, or the way to sign in was taken away.',
  },
}

function safeCode(code: unknown): string {
  return typeof code === 'string' && ERROR_CODE.test(code) ? code : 'unreadable error code'
}

/** What the errors of an authorization response mean (RFC 6749, 4.1.2.1); all others are the provider's refusal. */
const RESPONSE_ERRORS: ReadonlyMap<string, FailureKind> = new Map([
  ['access_denied', 'cancelled'],
  ['temporarily_unavailable', 'unavailable'],
  ['server_error', 'unavailable'],
  ['unauthorized_client', 'misregistered'],
  ['invalid_client', 'misregistered'],
])

/** The same of the token endpoint (RFC 6749, 5.2). A code that is no longer good was used before, or took too long. */
const TOKEN_ERRORS: ReadonlyMap<string, FailureKind> = new Map([
  ['invalid_grant', 'expired'],
  ['invalid_client', 'misregistered'],
  ['unauthorized_client', 'misregistered'],
])

/** Converts an error of `openid-client`, without its causes: they have bodies, claims and parameters. */
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

/** The library's own sentences are constant, and have a code; what the provider sent is in the causes below them only. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (!('code' in error)) return error.name
  const { cause } = error
  return cause instanceof Error && 'code' in cause ? `${error.message} (${cause.message})` : error.message
}
