/** What people read who were not signed in: what happened, and what they can do. */
import type { Outcome } from '../../http/pages/outcome.ts'
import type { DomainRefusal } from './claims.ts'
import type { FailureKind } from './failure.ts'

export type OutcomeKind = FailureKind | DomainRefusal | 'no account' | 'disabled' | 'unknown provider'

export interface OutcomeDetails {
  /** Of the identity provider, as on its button. */
  readonly provider: string
  /** The provider's error code, or the e-mail address that was refused. */
  readonly detail: string | undefined
}

interface Told {
  readonly status: number
  readonly title: string
  readonly text: (details: OutcomeDetails) => string
}

const ASK_OPERATOR = 'If it stays so, ask whoever runs this installation.'

const OUTCOMES: Readonly<Record<OutcomeKind, Told>> = {
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
