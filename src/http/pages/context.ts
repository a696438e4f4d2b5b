/** The common parts of page routes: the ports they need, security headers, form fields, sending a page. */
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

/* Security headers of pages: content security policies, framing, caching, HSTS. */

/** Headers of pages without script: nothing may be loaded, no site may frame them. */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

/** Style, script and data are same-origin files; nothing is inline. */
const policyOf = (images: string, last: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' ${images}`,
    "connect-src 'self'",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    last,
  ].join('; ')
const APP_CSP = policyOf('data:', "require-trusted-types-for 'script'")
/** Scripts position popovers, without a `style` attribute in markup. */
const DASHBOARD_CSP = policyOf('data: blob:', "manifest-src 'self'")
const YEAR_S = 31_536_000

/** Headers of the sign-in pages and session endpoints (WEB-3). @param publicUrl With https, HSTS is sent. */
export function appHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return {
    'content-security-policy': APP_CSP,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': 'no-store',
    ...(publicUrl.startsWith('https:') && { 'strict-transport-security': `max-age=${YEAR_S}; includeSubDomains` }),
  }
}

const UNUSED_FEATURES = ['camera', 'display-capture', 'geolocation', 'microphone', 'payment', 'usb']

/** Headers of the documentation; `cache-control` is the file's. @param publicUrl With https, HSTS is sent. */
export function documentationHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return { ...dashboardHeaders(publicUrl), 'content-security-policy': APP_CSP }
}

/** Its component sets `innerHTML`, after sanitising: see docs/decisions/0022-documentation-site.md. */
export const referenceHeaders = dashboardHeaders

/** Headers of the dashboard's page; `cache-control` is the file's. @param publicUrl With https, HSTS is sent. */
export function dashboardHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return {
    ...appHeaders(publicUrl),
    'content-security-policy': DASHBOARD_CSP,
    'permissions-policy': UNUSED_FEATURES.map((feature) => `${feature}=()`).join(', '),
  }
}

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
