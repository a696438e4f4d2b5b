/// <reference path="./undici-parts.d.ts" />
/**
 * Outbound connections to targets that tenants choose (SSRF): connects only to addresses that it checked in the same
 * resolution. Knows neither contents nor deadlines; redirects are ordinary responses.
 */
import { promises as dns, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import buildConnector from 'undici/lib/core/connect.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import { GatewayError } from '../domain/errors.ts'
import {
  allowedTargets,
  isWithinReach,
  type Reach,
  reachInWords,
  reachOf,
  readTarget,
  type TargetRule,
} from '../lib/ip-address.ts'

/** Resolves a name to all its addresses, at least one; rejects otherwise. Every address is checked. */
export type ResolveAddresses = (hostname: string) => Promise<readonly string[]>

export interface TargetOptions extends TargetRule {
  /** Parameter of the target (default: `url`). */
  readonly param?: string
}

interface ResolvedTargetOptions extends TargetOptions {
  readonly resolve?: ResolveAddresses
  /** Names that take longer count as unresolvable. */
  readonly timeoutMs?: number
}

export interface GuardedAgentOptions extends TargetRule {
  readonly resolve?: ResolveAddresses
  /** For resolution, connection and TLS together. */
  readonly connectTimeoutMs?: number
  /** Concurrent connections to one origin (default: no limit). */
  readonly connections?: number
  /** Certificates (PEM) of trusted authorities instead of the default ones. */
  readonly ca?: string
}

/** The target is not allowed. Never names the address: clients must not explore internal names. */
export class TargetRefusedError extends Error {
  override readonly name = 'TargetRefusedError'
  readonly code = 'TARGET_REFUSED'
}

const CONNECT_TIMEOUT_MS = 10_000
const CHECK_TIMEOUT_MS = 2_000
/** Node's default of 250 ms is too short for distant receivers with one lost packet. */
const ONE_ADDRESS_TIMEOUT_MS = 2_000
/** Limits keep-alive, whatever the receiver requests: each new connection checks the name again. */
const IDLE_MS = 4_000
/** Maximum response headers. */
const MAX_TARGET_HEADER_BYTES = 16 * 1024
const NAME_SERVER_TIMEOUT_MS = 2_000
const NAME_SERVER_TRIES = 2

/**
 * Checks the text of a target when a client sets it.
 * @throws GatewayError `invalid_value`, with the allowed targets.
 */
export function checkTarget(text: string, options: TargetOptions): URL {
  const verdict = readTarget(text, options)
  if ('url' in verdict) return verdict.url
  throw invalidTarget(verdict.refusal, options)
}

/**
 * Checks, at the same moment, what the name of a target resolves to. A name that does not resolve passes: its owner may
 * set it up later, and every connection is checked again.
 */
export async function checkTargetAddresses(url: URL, options: ResolvedTargetOptions): Promise<void> {
  const hostname = withoutBrackets(url.hostname)
  if (isIP(hostname) !== 0) return
  const resolve = options.resolve ?? usualResolver(options)
  const addresses = await withinTime(resolve(hostname), options.timeoutMs ?? CHECK_TIMEOUT_MS).catch(() => [])
  const reach = reachOf(url, options)
  if (reach !== undefined && addresses.every((address) => isWithinReach(address, reach))) return
  throw invalidTarget(`has a name that resolves to an address that is not ${reachInWords(reach ?? 'public')}`, options)
}

function invalidTarget(refusal: string, options: TargetOptions): GatewayError {
  const message = `The target ${refusal}. Allowed are ${allowedTargets(options)}.`
  return new GatewayError('invalid_value', message, { param: options.param ?? 'url' })
}

function withoutBrackets(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

async function withinTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`No result within ${timeoutMs} ms.`)), timeoutMs)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Creates an agent that connects only to targets of the rule. It shares no pools and TLS sessions, so that connections of one
 * rule are never used under another. HTTP/1.1; callers set deadlines by signal.
 */
export function createGuardedAgent(options: GuardedAgentOptions): Agent {
  return new Agent({
    connect: guardedConnector(options),
    allowH2: false,
    connections: options.connections ?? null,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    maxHeaderSize: MAX_TARGET_HEADER_BYTES,
  })
}

/** Reads the body of a target's answer. Rejects for one above `most` bytes. */
export async function readBounded(body: AsyncIterable<Buffer>, most: number): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > most) throw new Error(`the answer exceeds ${most} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

const FORM = 'The target is not https on an allowed port.'

function guardedConnector(options: GuardedAgentOptions): buildConnector.connector {
  const resolve = options.resolve ?? usualResolver(options)
  const connectors = {
    public: connectorWithin('public', resolve, options),
    private: connectorWithin('private', resolve, options),
    both: connectorWithin('both', resolve, options),
  }
  return (target, callback) => {
    const reach = reachOf(target, options)
    const refusal = reach === undefined ? new TargetRefusedError(FORM) : literalRefusal(target.hostname, reach)
    if (reach !== undefined && refusal === undefined) connectors[reach](target, callback)
    else process.nextTick(callback, refusal, null) // asynchronously, like a failed connection
  }
}

/** Node.js does not call `lookup` for literal addresses. */
function literalRefusal(hostname: string, reach: Reach): TargetRefusedError | undefined {
  const literal = withoutBrackets(hostname)
  if (isIP(literal) === 0 || isWithinReach(literal, reach)) return undefined
  return new TargetRefusedError(`The target is at an address that is not ${reachInWords(reach)}.`)
}

function connectorWithin(
  reach: Reach,
  resolve: ResolveAddresses,
  options: GuardedAgentOptions,
): buildConnector.connector {
  return buildConnector({
    lookup: guardedLookup(reach, resolve),
    timeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    allowH2: false,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ONE_ADDRESS_TIMEOUT_MS,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  })
}

/** Node.js connects only to the addresses that this returns, also when it tries several. */
function guardedLookup(reach: Reach, resolve: ResolveAddresses): LookupFunction {
  return (hostname, { all }, callback) => {
    checkedAddresses(hostname, reach, resolve).then(
      (addresses) => {
        if (all === true) return callback(null, addresses)
        const [{ address, family }] = addresses
        callback(null, address, family)
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    )
  }
}

/** A name with both allowed and forbidden addresses is rejected: only attackers have a reason for it. */
async function checkedAddresses(
  hostname: string,
  reach: Reach,
  resolve: ResolveAddresses,
): Promise<[LookupAddress, ...LookupAddress[]]> {
  const [first, ...others] = await resolve(hostname)
  if (first === undefined) throw new TargetRefusedError('The name of the target has no address.')
  if (![first, ...others].every((address) => isWithinReach(address, reach))) {
    throw new TargetRefusedError(`The name of the target resolves to an address that is not ${reachInWords(reach)}.`)
  }
  return [withFamily(first), ...others.map(withFamily)]
}

function withFamily(address: string): LookupAddress {
  return { address, family: isIP(address) }
}

/** Private networks: their names are often in files or directories that only the system resolver reads. */
export function usualResolver({ allowPrivateNetworks }: TargetRule): ResolveAddresses {
  return allowPrivateNetworks ? resolveBySystem : nameServerResolver()
}

async function resolveBySystem(hostname: string): Promise<string[]> {
  const found = await dns.lookup(hostname, { all: true })
  return found.map(({ address }) => address)
}

/**
 * Queries name servers only: without hosts file and search domains, and without a thread of the system resolver, which a slow
 * name server of a tenant would block.
 * @param servers `address:port` (default: the current ones of the machine).
 * @param timeoutMs Until the next attempt.
 */
export function nameServerResolver(servers?: readonly string[], timeoutMs = NAME_SERVER_TIMEOUT_MS): ResolveAddresses {
  return async (hostname) => {
    const resolver = new dns.Resolver({ timeout: timeoutMs, tries: NAME_SERVER_TRIES })
    if (servers !== undefined) resolver.setServers(servers)
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = [ipv4, ipv6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length === 0 && ipv4.status === 'rejected') throw ipv4.reason
    return addresses
  }
}
