/**
 * Ports of the sign-in and activation pages to sessions, people and devices. Implemented by features, connected by
 * `app.ts`.
 */
import type { AccountId, SessionId, UserId } from '../ids.ts'
import type { Role, Scope } from './caller.ts'

/** Origin of a request, for lists of sessions and events. */
export interface Origin {
  readonly address: string
  readonly userAgent: string | undefined
  readonly requestId: string
}

/** The session of a signed-in browser, found by its cookie. */
export interface BrowserSession {
  readonly id: SessionId
  readonly userId: UserId
  readonly email: string
  readonly name: string
  /** The current account. */
  readonly accountId: AccountId
  readonly accountName: string
  readonly role: Role
  /** Unix milliseconds of the sign-in. */
  readonly signedInAt: number
}

export interface SessionsPort {
  /** Returns undefined if nobody is signed in. @param cookies The `Cookie` header. */
  find(cookies: string | undefined): Promise<BrowserSession | undefined>
  /** Begins a session with a new ID. @returns The value of `Set-Cookie`. */
  start(who: { readonly userId: UserId; readonly accountId: AccountId }, origin: Origin): Promise<string>
  /** Ends a session, in all processes within 30 s. @returns The value of `Set-Cookie` that removes the cookie. */
  end(session: BrowserSession, origin: Origin): Promise<string>
}

/** A device that requests access, for display to the person who decides. */
export interface ActivationRequest {
  /** `XXXX-XXXX`. */
  readonly userCode: string
  /** Name of the client, such as `Turnpike command line`. */
  readonly clientName: string
  readonly address: string | undefined
  readonly userAgent: string | undefined
  /** Unix milliseconds. */
  readonly requestedAt: number
  readonly expiresAt: number
  readonly scopes: readonly Scope[]
  /** The device receives a refresh token. */
  readonly offline: boolean
}

type ActivationLookup =
  | { readonly kind: 'found'; readonly request: ActivationRequest }
  /** Wrong, expired, or already decided. */
  | { readonly kind: 'unknown' }
  | ActivationBlock

/** Too many wrong codes from this session or address. */
export interface ActivationBlock {
  readonly kind: 'blocked'
  readonly retryAfterMs: number
}

export interface ActivationPort {
  /** @param typed The code as typed; ignores case, spaces and dashes. A wrong one counts as a guess. */
  find(typed: string, who: { readonly session: BrowserSession; readonly origin: Origin }): Promise<ActivationLookup>
  /** @returns False if the request has expired or been decided in another window. A wrong code counts as a guess. */
  decide(
    userCode: string,
    decision: { readonly approve: boolean; readonly session: BrowserSession; readonly origin: Origin },
  ): Promise<boolean | ActivationBlock>
}

/** A sign-in method, for the buttons of a page. */
export interface SignInChoice {
  /** The part of the path `/auth/…` that begins the sign-in. */
  readonly slug: string
  readonly name: string
}

/** Result of a sign-in that an identity provider or a link has verified. */
export type Arrival =
  | { readonly kind: 'member'; readonly userId: UserId; readonly accountId: AccountId }
  /** The person is known, but a member of no account and not invited. */
  | { readonly kind: 'no account'; readonly email: string }
  | { readonly kind: 'disabled' }

/** Implemented by `features/members`. */
export interface PeoplePort {
  /**
   * Finds or creates the person of a verified identity. The first person becomes the owner of the first account; one
   * with an invitation becomes a member of the inviting account.
   */
  arrive(identity: VouchedIdentity, origin: Origin & { readonly invitation: string | undefined }): Promise<Arrival>
  /** Finds or creates the owner of the account of a one-time link. */
  ownerOf(accountId: AccountId, origin: Origin): Promise<Arrival>
}

/** A person as verified by an identity provider. */
export interface VouchedIdentity {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  readonly emailVerified: boolean
  readonly name: string
  /** That the provider says the person is in; undefined: it does not say, or is not asked. */
  readonly groups?: readonly string[] | undefined
}
