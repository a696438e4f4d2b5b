/** The two halves of a sign-in: the way to the identity provider, and the way back. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { Origin, PeoplePort, SessionsPort, VouchedIdentity } from '../../domain/sign-in.ts'
import { originOfRequest } from '../../http/browser-request.ts'
import { createLruCache, type LruCache } from '../../lib/lru-cache.ts'
import type { WriteAudit } from '../deps.ts'
import { type ProviderSettings, providerSlug } from './choices.ts'
import { domainRefusal } from './claims.ts'
import { SignInError } from './failure.ts'
import { invitationToken, localPath } from './local-path.ts'
import { createOutbound, type OutboundLimits } from './outbound.ts'
import type { OutcomeKind } from './outcomes.ts'
import { createProvider, type IdentityProvider } from './provider.ts'
import { noteRefusal } from './refused.ts'
import {
  createRoundTripCookie,
  newRoundTrip,
  REMOVED_ROUND_TRIP,
  type RoundTrip,
  type RoundTripCookie,
} from './round-trip.ts'

export interface VisitsDeps {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly people: Pick<PeoplePort, 'arrive'>
  readonly sessions: Pick<SessionsPort, 'start'>
  readonly writeAudit: WriteAudit
}

/** A provider with its addresses here. */
export interface Way extends IdentityProvider {
  readonly settings: ProviderSettings
  readonly slug: string
  readonly redirectUri: string
}

export interface Visits extends VisitsDeps {
  readonly ways: ReadonlyMap<string, Way>
  readonly cookie: RoundTripCookie
  /** States of round trips that ended here, so that none ends twice; the provider's codes are good for once, too. */
  readonly ended: LruCache<true>
}

export interface Visit {
  readonly visits: Visits
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly way: Way
}

/** Why there is no sign-in. */
export interface Refused {
  readonly kind: OutcomeKind
  /** For the page. */
  readonly detail?: string | undefined
  /** For the log. */
  readonly reason?: string
  /** Where the visitor wanted to go. */
  readonly next?: string
}

const MAX_ENDED = 10_000
/** What `Sec-Fetch-Site` says of a page of ours, of an address that was typed, and of a browser that does not know it. */
const OWN_SITES: readonly unknown[] = ['same-origin', 'none', undefined]

interface VisitsInput extends VisitsDeps {
  readonly providers: readonly ProviderSettings[]
  readonly publicUrl: string
  readonly key: Uint8Array
  readonly limits?: OutboundLimits
}

export function createVisits(input: VisitsInput): Visits {
  const { db, now, people, sessions, writeAudit } = input
  const outbound = createOutbound(input.limits)
  const ways = input.providers.map((settings): [string, Way] => {
    const slug = providerSlug(settings)
    const redirectUri = `${input.publicUrl}/auth/${slug}/callback`
    return [slug, { ...createProvider(settings, { redirectUri, outbound, now }), settings, slug, redirectUri }]
  })
  const cookie = createRoundTripCookie(input.key, now)
  return { db, now, people, sessions, writeAudit, ways: new Map(ways), cookie, ended: createLruCache(MAX_ENDED) }
}

/** @returns where the browser goes. */
export async function begin({ visits, request, reply, way }: Visit): Promise<string> {
  const asked = queryOf(request)
  const next = localPath(asked['next'])
  // A page elsewhere could begin a sign-in with an invitation of its own, and the visitor would never have been asked.
  if (!OWN_SITES.includes(request.headers['sec-fetch-site'])) return `/sign-in?next=${encodeURIComponent(next)}`
  const trip = newRoundTrip({ slug: way.slug, next, invitation: invitationToken(asked['invitation']) })
  const url = await way.begin(trip)
  reply.header('set-cookie', await visits.cookie.seal(trip))
  return url.href
}

/** @returns where the browser goes, signed in, or why it is not. */
export async function end(visit: Visit): Promise<string | Refused> {
  const { visits, request, reply, way } = visit
  reply.header('set-cookie', REMOVED_ROUND_TRIP)
  const trip = await takeRoundTrip(visit)
  const callback = new URL(way.redirectUri)
  callback.search = new URL(request.url, callback).search
  const identity = await way.end(callback, trip).catch(refusedBy)
  if ('kind' in identity) return { ...identity, next: trip.next }
  const origin = originOfRequest(request)
  const arrival = await arrive(visit, { identity, origin, invitation: trip.invitation })
  if (arrival.kind !== 'member') return { kind: arrival.kind, detail: identity.email, next: trip.next }
  const { userId, accountId } = arrival
  reply.header('set-cookie', await visits.sessions.start({ userId, accountId }, origin))
  return trip.next
}

/** What a page tells of a failure; anything but a failure of ours is thrown on. */
export function refusedBy(error: unknown): Refused {
  if (!(error instanceof SignInError)) throw error
  const { kind, reason } = error
  return { kind, reason, detail: kind === 'refused by provider' ? reason : undefined }
}

/** The round trip that a callback ends. */
async function takeRoundTrip({ visits, request, way }: Visit): Promise<RoundTrip> {
  const trip = await visits.cookie.open(request.headers.cookie)
  if (trip === undefined) throw new SignInError('expired', 'no round trip')
  if (trip.slug !== way.slug) throw new SignInError('mismatch', 'begun with another provider')
  if (queryOf(request)['state'] !== trip.state) throw new SignInError('mismatch', 'another state')
  if (visits.ended.get(trip.state) === true) throw new SignInError('expired', 'ended before')
  visits.ended.set(trip.state, true)
  return trip
}

interface Arriving {
  readonly identity: VouchedIdentity
  readonly origin: Origin
  readonly invitation: string | undefined
}

async function arrive({ visits, way }: Visit, { identity, origin, invitation }: Arriving) {
  const { name, allowed_domains: allowed } = way.settings
  const refusal = domainRefusal(identity, allowed)
  const arrival =
    refusal === undefined ? await visits.people.arrive(identity, { ...origin, invitation }) : { kind: refusal }
  const { kind } = arrival
  if (kind === 'unverified' || kind === 'domain' || kind === 'disabled') {
    await noteRefusal(visits, { identity, reason: kind, provider: name, origin })
  }
  return arrival
}

/** A parameter that came twice is a list, and then nothing that is known. */
function queryOf(request: FastifyRequest): Readonly<Record<string, unknown>> {
  return request.query as Readonly<Record<string, unknown>> // what the server's own parser makes
}
