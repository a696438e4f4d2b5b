/** Authentication of requests: the caller, the scope that a route requires, and a rate limit of invalid keys. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../domain/errors.ts'
import { type Caller, DELEGATING_RIGHTS, type Right, type TeamEndpoint } from '../domain/identity/caller.ts'
import type { TeamId } from '../domain/ids.ts'
import type { RequestEntry, RequestGate } from '../domain/limits.ts'
import { spend } from '../domain/limits.ts'
import { createLruCache } from '../lib/collections.ts'
import { addressGroup } from '../lib/ip-address.ts'

/** The differences between the APIs that clients call. */
export interface RouteApi {
  /** `METHOD /path`, the scope of idempotency keys. */
  readonly endpoint: string
  /** The header in which its SDKs look for the id of a request. */
  readonly requestIdHeader: string
  /** Lower-case names of request headers that hosts of the same protocol receive. */
  readonly passedHeaders?: readonly string[]
  /** The body of an error response. */
  readonly renderError: (error: GatewayError, requestId: string) => string
  readonly statusOf: (error: GatewayError) => number
}

/** Returns the owner of a credential. Throws or rejects with `GatewayError`. */
export type Authenticate = (authorization: string | undefined, address: string) => Caller | Promise<Caller>

/** Returns a caller in a team. Rejects with `GatewayError`. */
export type InTeam = (caller: Caller, teamId: TeamId) => Promise<Caller>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that this route requires. */
    scope?: Right
    /** The route itself checks the rights of a team's keys and members, whose rights in the account do not suffice. */
    inTeam?: true
    /** The endpoint to which a team can be limited. */
    endpoint?: TeamEndpoint
    /** Maximum request body in bytes, where it is not the default. */
    bodyLimitBytes?: number
    /** A chat completion: counted by rate limits before its body, which is estimated as a prompt. */
    isChat?: boolean
    /** Set for APIs other than chat completions: the scope of idempotency keys and the form of errors. */
    api?: RouteApi
  }
  interface FastifyRequest {
    /** Use `callerOf` to read it. */
    caller: Caller | undefined
    /** Set by the request gate for requests that may have a body. */
    entry: RequestEntry | undefined
  }
}

/** The caller of a request that passed `requireCaller`. */
export function callerOf(request: FastifyRequest): Caller {
  const { caller } = request
  if (caller === undefined) throw new Error('a route without authentication used its caller')
  return caller
}

interface CallerOptions {
  /** Counts requests that may have a body, before it is read. */
  readonly gate?: RequestGate
  /** Applied to requests that name a team with `x-turnpike-team`. */
  readonly inTeam?: InTeam
}

/**
 * Requires a valid credential with the route's `config.scope` on every route of `app`.
 */
export function requireCaller(
  app: FastifyInstance,
  authenticate: Authenticate,
  { gate, inTeam }: CallerOptions = {},
): void {
  app.decorateRequest('caller', undefined)
  const accept = (request: FastifyRequest, reply: FastifyReply, caller: Caller): void => {
    const { scope, inTeam = false, endpoint, isChat = false } = request.routeOptions.config
    request.caller = caller // the log names the caller even if the request is rejected
    if (scope !== undefined && !isAllowed(scope, caller, inTeam)) throw lackOf(scope, caller)
    if (endpoint !== undefined) assertEndpoint(caller, endpoint)
    if (caller.kind === 'session') reply.header('cache-control', 'no-store') // keeps it out of browser caches
    if (gate !== undefined && request.method !== 'GET') request.entry = gate.enter(caller, isChat)
  }
  app.addHook('onRequest', (request, reply, done) => {
    let caller: Caller | Promise<Caller>
    try {
      caller = authenticate(authorizationOf(request), request.ip)
      const team = request.headers['x-turnpike-team']
      if (inTeam !== undefined && typeof team === 'string') {
        caller = Promise.resolve(caller).then((found) => {
          request.caller = found
          return inTeam(found, team as TeamId)
        })
      }
      if (!(caller instanceof Promise)) accept(request, reply, caller)
    } catch (error) {
      return done(error as Error)
    }
    if (!(caller instanceof Promise)) return done()
    caller.then((found) => accept(request, reply, found)).then(() => done(), done)
  })
}

/** Returns `Authorization`, or the key in `X-Api-Key`, which clients of the Messages API send. */
export function authorizationOf({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  const { authorization, 'x-api-key': key } = headers
  return authorization !== undefined || typeof key !== 'string' ? authorization : `Bearer ${key}`
}

/** Throws 403 if the caller lacks a right that the route requires for some of its fields only. */
export function assertRight(caller: Caller, right: Right): void {
  if (!caller.scopes.has(right)) throw lackOf(right, caller)
}

/** A key of a team has delegating rights in its team alone, and members of teams may have them there. */
function isAllowed(scope: Right, { scopes, teamId, teams }: Caller, inTeam: boolean): boolean {
  if (scopes.has(scope)) return inTeam || teamId === undefined || !DELEGATING_RIGHTS.has(scope)
  return inTeam && teams !== undefined
}

/** Throws 403 if the caller's team does not allow the endpoint. */
export function assertEndpoint({ endpoints }: Caller, endpoint: TeamEndpoint): void {
  if (endpoints === undefined || endpoints.has(endpoint)) return
  const message = `The team of this credential does not allow the endpoint '${endpoint}'.`
  throw new GatewayError('endpoint_not_allowed', message)
}

function lackOf(scope: Right, { kind, isLimited, teamId, scopes }: Caller): GatewayError {
  if (teamId !== undefined && scopes.has(scope)) return keyOfTeam(scope)
  if (isLimited === true && DELEGATING_RIGHTS.has(scope)) return limitedKey()
  return new GatewayError('insufficient_scope', `${LACKING[kind]} '${scope}'.`)
}

function keyOfTeam(scope: Right): GatewayError {
  const message = `A key of a team has the scope '${scope}' for keys of its team alone. Use a key of the account, or sign in.`
  return new GatewayError('insufficient_scope', message)
}

/** Members and keys that a limited key creates would not have its limits. */
export function limitedKey(): GatewayError {
  const message =
    'A key with a budget, models, a rate or an expiry cannot manage keys or members. Use a key without limits, or sign in.'
  return new GatewayError('insufficient_scope', message)
}

const LACKING = {
  key: 'This key does not have the scope',
  token: 'This token does not have the scope',
  session: 'Your role in this account does not have the right',
}

const MAX_UNKNOWN_KEYS = 60
const WINDOW_MS = 60_000
/** Least recently seen addresses are evicted beyond it. */
const MAX_UNKNOWN_ADDRESSES = 10_000

/**
 * Rate limits invalid keys by address, of IPv6 by /64. Valid keys always pass: many clients may share an address.
 * @param clock Monotonic milliseconds.
 * @returns `authenticate`, which throws `rate_limit_exceeded` beyond the limit.
 */
export function limitUnknownKeys(authenticate: Authenticate, clock: () => number): Authenticate {
  const states = createLruCache<number>(MAX_UNKNOWN_ADDRESSES)
  const counted = (error: unknown, address: string): unknown => {
    if (!(error instanceof GatewayError) || error.code !== 'invalid_credential') return error
    const now = clock()
    const group = addressGroup(address)
    const own = spend({ limit: MAX_UNKNOWN_KEYS, windowMs: WINDOW_MS, cost: 1 }, states.get(group), now)
    states.set(group, own.restedAt)
    return own.allowed ? error : tooMany(own.retryAfterMs)
  }
  return (authorization, address) => {
    try {
      const caller = authenticate(authorization, address)
      if (!(caller instanceof Promise)) return caller
      return caller.catch((error: unknown) => {
        throw counted(error, address)
      })
    } catch (error) {
      throw counted(error, address)
    }
  }
}

function tooMany(retryAfterMs: number): GatewayError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000))
  const message = `This address has sent ${MAX_UNKNOWN_KEYS} invalid API keys within a minute; try again in ${seconds} s, with a valid key.`
  return new GatewayError('rate_limit_exceeded', message, { retryAfterMs })
}
