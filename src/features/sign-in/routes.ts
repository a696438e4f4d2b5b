/**
 * Sign-in with identity providers: `/auth/{slug}` redirects the browser to the provider, `/auth/{slug}/callback` receives
 * it. `PeoplePort` maps the verified identity to a person, `SessionsPort` starts the session. The provider's tokens are
 * discarded with the request.
 */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Origin, PeoplePort, SessionsPort, VouchedIdentity } from '../../domain/identity/sign-in.ts'
import { appHeaders } from '../../http/pages/context.ts'
import type { Outcome } from '../../http/pages/layout.ts'
import { originOfRequest } from '../../http/request-origin.ts'
import { createLruCache, type LruCache } from '../../lib/collections.ts'
import type { Log } from '../../telemetry/log.ts'
import type { FeatureDeps, WriteAudit } from '../deps.ts'
import { type OutcomeKind, outcomeOf, SignInError } from './failure.ts'
import { githubProvider } from './github.ts'
import { invitationToken, localPath } from './local-path.ts'
import { openidProvider } from './openid.ts'
import {
  createOutbound,
  domainRefusal,
  type IdentityProvider,
  type OutboundLimits,
  type ProviderDeps,
  type ProviderSettings,
  providerSlug,
} from './provider.ts'
import {
  createRoundTripCookie,
  newRoundTrip,
  REMOVED_ROUND_TRIP,
  type RoundTrip,
  type RoundTripCookie,
} from './round-trip.ts'

const MAX_ENDED = 10_000
/** Values of `Sec-Fetch-Site` from a page of this server, a typed address, and a browser without the header. */
const OWN_SITES: readonly unknown[] = ['same-origin', 'none', undefined]
/** Accounts of one person in which a refusal is recorded. */
const MAX_ACCOUNTS = 20

export interface VisitsDeps extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly people: Pick<PeoplePort, 'arrive'>
  readonly sessions: Pick<SessionsPort, 'start'>
  readonly writeAudit: WriteAudit
}

/** An identity provider with its addresses in this installation. */
export interface SignInRoute extends IdentityProvider {
  readonly settings: ProviderSettings
  readonly slug: string
  readonly redirectUri: string
}

export interface Visits extends VisitsDeps {
  readonly routes: ReadonlyMap<string, SignInRoute>
  readonly cookie: RoundTripCookie
  /** States of completed round trips, so that none is completed twice. The provider's codes are valid once, too. */
  readonly ended: LruCache<true>
}

export interface Visit {
  readonly visits: Visits
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly route: SignInRoute
}

/** Why a visitor was not signed in. */
export interface Failure {
  readonly kind: OutcomeKind
  /** For the page. */
  readonly detail?: string | undefined
  /** For the log. */
  readonly reason?: string
  /** The path that the visitor requested. */
  readonly next?: string
}

interface VisitsInput extends VisitsDeps {
  /** `auth.providers` of the configuration. */
  readonly providers: readonly ProviderSettings[]
  /** Without trailing slash. */
  readonly publicUrl: string
  /** 32 bytes, for the cookie of the round trip. */
  readonly key: Uint8Array
  /** Timeouts of providers (default: `OUTBOUND_LIMITS`). */
  readonly limits?: OutboundLimits
}

export function createVisits(input: VisitsInput): Visits {
  const { db, now, people, sessions, writeAudit } = input
  const outbound = createOutbound(input.limits)
  const routes = input.providers.map((settings): [string, SignInRoute] => {
    const slug = providerSlug(settings)
    const redirectUri = `${input.publicUrl}/auth/${slug}/callback`
    return [slug, { ...createProvider(settings, { redirectUri, outbound, now }), settings, slug, redirectUri }]
  })
  const cookie = createRoundTripCookie(input.key, now)
  return { db, now, people, sessions, writeAudit, routes: new Map(routes), cookie, ended: createLruCache(MAX_ENDED) }
}

function createProvider(settings: ProviderSettings, deps: ProviderDeps): IdentityProvider {
  return settings.kind === 'github' ? githubProvider(settings, deps) : openidProvider(settings, deps)
}

/** Returns the URL to redirect the browser to. */
export async function begin({ visits, request, reply, route }: Visit): Promise<string> {
  const query = queryOf(request)
  const next = localPath(query['next'])
  // Otherwise another site could start a sign-in with its own invitation, without the visitor's consent.
  if (!OWN_SITES.includes(request.headers['sec-fetch-site'])) return `/sign-in?next=${encodeURIComponent(next)}`
  const trip = newRoundTrip({ slug: route.slug, next, invitation: invitationToken(query['invitation']) })
  const url = await route.begin(trip)
  reply.header('set-cookie', await visits.cookie.seal(trip))
  return url.href
}

/** Returns the path to redirect the signed-in browser to, or the failure. */
export async function end(visit: Visit): Promise<string | Failure> {
  const { visits, request, reply, route } = visit
  reply.header('set-cookie', REMOVED_ROUND_TRIP)
  const trip = await takeRoundTrip(visit)
  const callback = new URL(route.redirectUri)
  callback.search = new URL(request.url, callback).search
  const identity = await route.end(callback, trip).catch(failureOf)
  if ('kind' in identity) return { ...identity, next: trip.next }
  const origin = originOfRequest(request)
  const arrival = await arrive(visit, { identity, origin, invitation: trip.invitation })
  if (arrival.kind !== 'member') return { kind: arrival.kind, detail: identity.email, next: trip.next }
  const { userId, accountId } = arrival
  reply.header('set-cookie', await visits.sessions.start({ userId, accountId }, origin))
  return trip.next
}

/** Converts a `SignInError`; rethrows anything else. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof SignInError)) throw error
  const { kind, reason } = error
  return { kind, reason, detail: kind === 'refused by provider' ? reason : undefined }
}

/** Returns the round trip of a callback, once. */
async function takeRoundTrip({ visits, request, route }: Visit): Promise<RoundTrip> {
  const trip = await visits.cookie.open(request.headers.cookie)
  if (trip === undefined) throw new SignInError('expired', 'no round trip')
  if (trip.slug !== route.slug) throw new SignInError('mismatch', 'started with another provider')
  if (queryOf(request)['state'] !== trip.state) throw new SignInError('mismatch', 'another state')
  if (visits.ended.get(trip.state) === true) throw new SignInError('expired', 'completed before')
  visits.ended.set(trip.state, true)
  return trip
}

interface Arriving {
  readonly identity: VouchedIdentity
  readonly origin: Origin
  readonly invitation: string | undefined
}

async function arrive({ visits, route }: Visit, { identity, origin, invitation }: Arriving) {
  const { name, allowed_domains: allowed } = route.settings
  const refusal = domainRefusal(identity, allowed)
  const arrival =
    refusal === undefined ? await visits.people.arrive(identity, { ...origin, invitation }) : { kind: refusal }
  const { kind } = arrival
  if (kind === 'unverified' || kind === 'domain' || kind === 'disabled') {
    await auditRefusal(visits, { identity, reason: kind, provider: name, origin })
  }
  return arrival
}

/** A repeated parameter is an array, which no check accepts. */
function queryOf(request: FastifyRequest): Readonly<Record<string, unknown>> {
  return request.query as Readonly<Record<string, unknown>> // as the server's parser returns it
}

interface Refusal {
  readonly identity: VouchedIdentity
  readonly reason: 'unverified' | 'domain' | 'disabled'
  /** Name on the button. */
  readonly provider: string
  readonly origin: Origin
}

/** Records a refused sign-in in the audit log of every account of the person; unknown people have none. */
export async function auditRefusal(
  { db, writeAudit }: Pick<VisitsDeps, 'db' | 'writeAudit'>,
  { identity, reason, provider, origin }: Refusal,
): Promise<void> {
  const members = await db
    .selectFrom('identity')
    .innerJoin('member', 'member.user_id', 'identity.user_id')
    .select(['member.account_id', 'member.user_id'])
    .where('identity.issuer', '=', identity.issuer)
    .where('identity.subject', '=', identity.subject)
    .where('member.removed_at', 'is', null)
    .limit(MAX_ACCOUNTS)
    .execute()
  for (const { account_id: accountId, user_id: userId } of members) {
    await writeAudit(db, {
      accountId,
      actor: { kind: 'session', id: userId, name: identity.email },
      action: 'sign_in.refused',
      subject: userId,
      result: 'denied',
      ...origin,
      details: { reason, provider },
    })
  }
}

export interface SignInDeps extends VisitsInput {
  readonly log: Pick<Log, 'warn' | 'debug'>
  /** Renders the page of an outcome. */
  readonly page: (outcome: Outcome) => string
}

const RETRY_AFTER_S = '60'
const UNAVAILABLE = 503
/** Failures that are logged as warnings. */
const OPERATOR_FAILURES: ReadonlySet<OutcomeKind> = new Set(['unavailable', 'busy', 'untrusted', 'misregistered'])
/** A `HEAD` would use up the round trip and the provider's code. */
const options = { schema: { hide: true }, exposeHeadRoute: false } as const

/** `GET /auth/{slug}` and `GET /auth/{slug}/callback`. */
export function signInRoutes(deps: SignInDeps): FastifyPluginAsync {
  const visits = createVisits(deps)
  const headers = appHeaders(deps.publicUrl)

  function sendFailure({ request, reply }: Pick<Visit, 'request' | 'reply'>, failure: ProviderFailure): FastifyReply {
    const { kind, detail, reason, provider = '', next = localPath(undefined) } = failure
    const { status, outcome } = outcomeOf(kind, { provider, detail }, next)
    const fields = { requestId: request.id, provider, kind, reason }
    if (OPERATOR_FAILURES.has(kind)) deps.log.warn(fields, 'sign-in failed')
    else deps.log.debug(fields, 'sign-in refused')
    if (status === UNAVAILABLE) reply.header('retry-after', RETRY_AFTER_S)
    return reply.code(status).type('text/html; charset=utf-8').send(deps.page(outcome))
  }

  function handler(work: (visit: Visit) => Promise<string | Failure>) {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      reply.headers(headers)
      const route = visits.routes.get(slugOf(request))
      if (route === undefined) return sendFailure({ request, reply }, { kind: 'unknown provider' })
      const result = await work({ visits, request, reply, route }).catch(failureOf)
      if (typeof result === 'string') return reply.redirect(result, 303)
      return sendFailure({ request, reply }, { ...result, provider: route.settings.name })
    }
  }

  return async (app) => {
    app.get('/auth/:slug', options, handler(begin))
    app.get('/auth/:slug/callback', options, handler(end))
  }
}

type ProviderFailure = Failure & { readonly provider?: string }

function slugOf(request: FastifyRequest): string {
  return String((request.params as { readonly slug?: unknown }).slug) // both routes have it
}
