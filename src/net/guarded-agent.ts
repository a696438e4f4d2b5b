/**
 * The way out for every connection whose target a tenant chooses: what is connected to is an address that was checked,
 * in the same resolution. Knows nothing of what is sent, nor how long that may take; redirects are answers like any other.
 */
import { promises as dns, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector } from 'undici'
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

/** Every address of a name, at least one; rejects otherwise. What it answers is checked, whoever it is. */
export type ResolveAddresses = (hostname: string) => Promise<readonly string[]>

export interface TargetOptions extends TargetRule {
  /** The parameter that the target came in; `url` by default. */
  readonly param?: string
}

export interface ResolvedTargetOptions extends TargetOptions {
  readonly resolve?: ResolveAddresses
  /** After this long the name is taken as one that does not resolve. */
  readonly timeoutMs?: number
}

export interface GuardedAgentOptions extends TargetRule {
  readonly resolve?: ResolveAddresses
  /** For resolution, connection and TLS together. */
  readonly connectTimeoutMs?: number
  /** Connections to one origin at a time; without a limit by default. */
  readonly connections?: number
  /** Certificates (PEM) of the authorities to trust instead of the usual ones. */
  readonly ca?: string
}

/** Whoever asked to connect is told this; never the address, since internal names are nobody's to explore. */
export class TargetRefusedError extends Error {
  override readonly name = 'TargetRefusedError'
  readonly code = 'TARGET_REFUSED'
}

const CONNECT_TIMEOUT_MS = 10_000
const CHECK_TIMEOUT_MS = 2_000
/** Node's 250 ms gives up receivers far away, or on another continent with one packet lost. */
const ONE_ADDRESS_TIMEOUT_MS = 2_000
/** However long a receiver asks to keep a connection: once it is closed, the next one is to a name checked again. */
const IDLE_MS = 4_000
/** Response headers beyond this are refused. */
const MAX_TARGET_HEADER_BYTES = 16 * 1024
const NAME_SERVER_TIMEOUT_MS = 2_000
const NAME_SERVER_TRIES = 2

/**
 * For the moment when a target is given. Looks at the text alone.
 * @throws GatewayError `invalid_value`, which says what is allowed.
 */
export function checkTarget(text: string, options: TargetOptions): URL {
  const verdict = readTarget(text, options)
  if ('url' in verdict) return verdict.url
  throw invalidTarget(verdict.refusal, options)
}

/**
 * For the same moment: what the name of a checked target leads to now. A name that does not resolve passes, since its
 * owner may be about to set it up, and every connection is checked again.
 */
export async function checkTargetAddresses(url: URL, options: ResolvedTargetOptions): Promise<void> {
  const hostname = withoutBrackets(url.hostname)
  if (isIP(hostname) !== 0) return
  const resolve = options.resolve ?? usualResolver(options)
  const addresses = await withinTime(resolve(hostname), options.timeoutMs ?? CHECK_TIMEOUT_MS).catch(() => [])
  const reach = reachOf(url, options)
  if (reach !== undefined && addresses.every((address) => isWithinReach(address, reach))) return
  throw invalidTarget(`has a name that leads to an address that is not ${reachInWords(reach ?? 'public')}`, options)
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
  const timer = setTimeout(() => late.reject(new Error(`Nothing within ${timeoutMs} ms.`)), timeoutMs)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * An agent that connects to nothing but what the rule admits. Its pools and TLS sessions are its own, so that nothing
 * that one rule admitted is ever used under another. HTTP/1.1; deadlines are the callers', by signal.
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

function guardedConnector(options: GuardedAgentOptions): buildConnector.connector {
  const resolve = options.resolve ?? usualResolver(options)
  const connectors = {
    public: connectorWithin('public', resolve, options),
    private: connectorWithin('private', resolve, options),
    both: connectorWithin('both', resolve, options),
  }
  return (target, callback) => {
    const reach = reachOf(target, options)
    const refusal = reach === undefined ? formRefusal() : literalRefusal(target.hostname, reach)
    if (reach !== undefined && refusal === undefined) connectors[reach](target, callback)
    else process.nextTick(callback, refusal, null) // as a connection that fails would: never before this returns
  }
}

function formRefusal(): TargetRefusedError {
  return new TargetRefusedError('The target is not https on a port that is allowed.')
}

/** Node resolves no literals, and so would never ask `lookup` about them. */
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

/** Node connects to what this calls back with and asks nobody else, also where it tries several addresses. */
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

/** One address that is refused refuses the name: an owner of both kinds has no good reason, an attacker has. */
async function checkedAddresses(
  hostname: string,
  reach: Reach,
  resolve: ResolveAddresses,
): Promise<[LookupAddress, ...LookupAddress[]]> {
  const [first, ...others] = await resolve(hostname)
  if (first === undefined) throw new TargetRefusedError('The name of the target has no address.')
  if (![first, ...others].every((address) => isWithinReach(address, reach))) {
    throw new TargetRefusedError(`The name of the target leads to an address that is not ${reachInWords(reach)}.`)
  }
  return [withFamily(first), ...others.map(withFamily)]
}

function withFamily(address: string): LookupAddress {
  return { address, family: isIP(address) }
}

/** Names of private networks are often in a file or a directory of the machine's, which only the system looks into. */
function usualResolver({ allowPrivateNetworks }: TargetRule): ResolveAddresses {
  return allowPrivateNetworks ? resolveBySystem : nameServerResolver()
}

async function resolveBySystem(hostname: string): Promise<string[]> {
  const found = await dns.lookup(hostname, { all: true })
  return found.map(({ address }) => address)
}

/**
 * Asks name servers alone: no file of this machine's hosts, no search domains, and none of the few threads that the
 * system's resolver would hold while a tenant's name server takes its time.
 * @param servers `address:port`; those of the machine, as they are at each question by default.
 * @param timeoutMs Until a server is asked again.
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
