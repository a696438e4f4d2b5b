/** The common parts of page routes: the ports they need, form fields, sending a page. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GatewayError } from '../../domain/errors.ts'
import type { Role } from '../../domain/identity/caller.ts'
import type {
  ActivationPort,
  BrowserSession,
  Origin,
  SessionsPort,
  SignInChoice,
} from '../../domain/identity/sign-in.ts'
import type { AccountId, UserId } from '../../domain/ids.ts'
import type { Dashboard } from '../dashboard.ts'
import type { Membership } from './layout.ts'

interface PageSessions extends Pick<SessionsPort, 'find'> {
  /** Switches a session to another account of its user. @returns false when it ended, or the user is no member. */
  move(session: BrowserSession, accountId: AccountId, origin: Origin): Promise<boolean>
}

export interface PagePeople {
  /** Accounts that a user is a member of. */
  accountsOf(userId: UserId): Promise<readonly Membership[]>
  /** Accepts an invitation for a signed-in user. */
  accept(token: string, who: { readonly userId: UserId; readonly origin: Origin }): Promise<InvitationAnswer>
}

export type InvitationAnswer =
  | {
      readonly kind: 'joined' | 'member already'
      readonly accountId: AccountId
      readonly accountName: string
      readonly role: Role
    }
  /** Invalid, expired, revoked or used. */
  | { readonly kind: 'refused' }

export interface PagesDeps {
  /** The base URL without a trailing slash. */
  readonly publicUrl: string
  /** Unix milliseconds. */
  readonly now: () => number
  readonly sessions: PageSessions
  readonly people: PagePeople
  readonly activation: ActivationPort
  /** The sign-in options, in order. */
  readonly choices: readonly SignInChoice[]
  /** How the command line is called where the gateway is installed. */
  readonly commandLine: string
  /** Reduces a requested address to a local path. */
  readonly localPath: (asked: unknown) => string
  /** Undefined if the dashboard is not built. */
  readonly dashboard: Dashboard | undefined
  /** Receives errors for the log. */
  readonly onError: (error: GatewayError, requestId: string) => void
}

export const PAGE_TYPE = 'text/html; charset=utf-8'

export function sendPage(reply: FastifyReply, page: string, status = 200): FastifyReply {
  return reply.code(status).type(PAGE_TYPE).send(page)
}

/** A field of a submitted form; '' when it is missing or repeated. */
export function formField({ body }: FastifyRequest, name: string): string {
  return textIn(body, name) ?? ''
}

export function queryField({ query }: FastifyRequest, name: string): string | undefined {
  return textIn(query, name)
}

function textIn(fields: unknown, name: string): string | undefined {
  if (typeof fields !== 'object' || fields === null || !Object.hasOwn(fields, name)) return undefined
  const value = (fields as Readonly<Record<string, unknown>>)[name] // checked above
  return typeof value === 'string' ? value : undefined
}

const FRESH_MS = 12 * 60 * 60_000

/** Returns whether a session signed in recently: approving a device requires more than an unattended browser. */
export function isFresh({ signedInAt }: BrowserSession, now: number): boolean {
  return now - signedInAt < FRESH_MS
}
