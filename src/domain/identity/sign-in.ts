/** What the pages of sign-in and activation need of sessions, people and devices. Implemented by features, connected by `app.ts`. */
import type { AccountId, SessionId, UserId } from '../ids.ts'
import type { Role, Scope } from './caller.ts'

/** Where a request of a browser comes from, for lists that people look at. */
export interface Origin {
  readonly address: string
  readonly userAgent: string | undefined
  readonly requestId: string
}

/** A browser that is signed in, by its cookie. */
export interface BrowserSession {
  readonly id: SessionId
  readonly userId: UserId
  readonly email: string
  readonly name: string
  /** The account that it acts in. */
  readonly accountId: AccountId
  readonly accountName: string
  readonly role: Role
  /** Unix milliseconds of the sign-in itself. */
  readonly signedInAt: number
}

export interface SessionsPort {
  /** Undefined: not signed in. @param cookies The `Cookie` header. */
  find(cookies: string | undefined): Promise<BrowserSession | undefined>
  /** Begins a session, always under a new id. @returns the value of `Set-Cookie`. */
  start(who: { readonly userId: UserId; readonly accountId: AccountId }, origin: Origin): Promise<string>
  /** Ends it everywhere within 30 s. @returns the value of `Set-Cookie` that removes the cookie. */
  end(session: BrowserSession, origin: Origin): Promise<string>
}

/** A device that requests access, as shown to the person who decides. */
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
  /** It will be able to come back without asking, by a refresh token. */
  readonly offline: boolean
}

export type ActivationLookup =
  | { readonly kind: 'found'; readonly request: ActivationRequest }
  /** Wrong, expired, or decided already, without saying which. */
  | { readonly kind: 'unknown' }
  | ActivationBlock

/** Too many wrong codes from this session or address. */
export interface ActivationBlock {
  readonly kind: 'blocked'
  readonly retryAfterMs: number
}

export interface ActivationPort {
  /** @param typed The code as somebody typed it: case, spaces and dashes do not matter. A wrong one counts as a guess. */
  find(typed: string, who: { readonly session: BrowserSession; readonly origin: Origin }): Promise<ActivationLookup>
  /** @returns false where the request is gone meanwhile: expired, or decided in another window. A wrong code is a guess. */
  decide(
    userCode: string,
    decision: { readonly approve: boolean; readonly session: BrowserSession; readonly origin: Origin },
  ): Promise<boolean | ActivationBlock>
}

/** A way to sign in, for the buttons of a page. */
export interface SignInChoice {
  /** `/auth/` and this begins it. */
  readonly slug: string
  readonly name: string
}

/** What becomes of somebody whom an identity provider or a link has vouched for. */
export type Arrival =
  | { readonly kind: 'member'; readonly userId: UserId; readonly accountId: AccountId }
  /** Known, but a member of no account, and not invited. */
  | { readonly kind: 'no account'; readonly email: string }
  | { readonly kind: 'disabled' }

/** Implemented by `features/members`. */
export interface PeoplePort {
  /**
   * Finds or makes the person of a verified identity. The first of an installation becomes the owner of its first account;
   * with an invitation, a member of the account that invites.
   */
  arrive(identity: VouchedIdentity, origin: Origin & { readonly invitation: string | undefined }): Promise<Arrival>
  /** The owner of the account of a one-time link, who is made if there is none. */
  ownerOf(accountId: AccountId, origin: Origin): Promise<Arrival>
}

/** A person as an identity provider reports them, after every check. */
export interface VouchedIdentity {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  readonly emailVerified: boolean
  readonly name: string
}
