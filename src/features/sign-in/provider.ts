/**
 * Identity providers: their settings, the choices on the sign-in page, the interface of `openid.ts` and `github.ts`,
 * and the requests that these send.
 */

import type { CustomFetch } from 'openid-client'
import type { SignInChoice, VouchedIdentity } from '../../domain/identity/sign-in.ts'
import { isLoopbackUrl } from '../../lib/ip-address.ts'
import { slugOf } from '../../lib/text.ts'
import { SignInError } from './failure.ts'
import type { RoundTrip } from './round-trip.ts'

/** `auth.providers[]` of the configuration. */
export interface ProviderSettings {
  readonly kind: 'oidc' | 'github'
  readonly name: string
  /** For `github`: the URL of an Enterprise server; undefined: github.com. */
  readonly issuer?: string | undefined
  readonly client_id: string
  readonly client_secret: string
  /** Empty, or with `*`: all. */
  readonly allowed_domains: readonly string[]
  /** Claim with the groups of a person; undefined: none. */
  readonly groups_claim?: string | undefined
}

/** Returns the path segment after `/auth/`; the configuration requires them to be unique. */
export function providerSlug({ name, kind }: Pick<ProviderSettings, 'name' | 'kind'>): string {
  return slugOf(name) || kind
}

/** Returns the choices in the order of the configuration. */
export function choices(providers: readonly ProviderSettings[]): readonly SignInChoice[] {
  return providers.map((settings) => ({ slug: providerSlug(settings), name: settings.name }))
}

export interface IdentityProvider {
  /** Returns the address that the browser is sent to. */
  begin(trip: RoundTrip): Promise<URL>
  /** Returns the verified identity. @param callback The address that the provider sent the browser to, with its parameters. */
  end(callback: URL, trip: RoundTrip): Promise<VouchedIdentity>
}

export interface ProviderDeps {
  readonly redirectUri: string
  readonly outbound: Outbound
  readonly now: () => number
}

/*
 * Requests to identity providers, with limits on the size of responses and on the time of each request and visit. It
 * follows no redirects, and requires TLS except for loopback addresses.
 */

export interface OutboundLimits {
  /** Timeout of a request with its response. */
  readonly requestMs: number
  /** Timeout of all requests of a visit. */
  readonly visitMs: number
}

const OUTBOUND_LIMITS: OutboundLimits = { requestMs: 5_000, visitMs: 10_000 }
const MAX_ANSWER_BYTES = 256 * 1024
/** Concurrent visits. */
const MAX_VISITS = 64
const TOO_MANY_REQUESTS = 429
const SERVER_ERRORS = 500

export interface Outbound {
  /** Timeout for `openid-client`. */
  readonly requestSeconds: number
  /** @throws SignInError `busy` at too many concurrent visits. */
  visit<Result>(work: (fetch: CustomFetch) => Promise<Result>): Promise<Result>
}

export function createOutbound({ requestMs, visitMs }: OutboundLimits = OUTBOUND_LIMITS): Outbound {
  let visits = 0
  return {
    requestSeconds: requestMs / 1000,
    async visit(work) {
      if (visits >= MAX_VISITS) throw new SignInError('busy', 'too many sign-ins at once')
      visits++
      try {
        return await work(fetchUntil(AbortSignal.timeout(visitMs)))
      } finally {
        visits--
      }
    },
  }
}

/** For building URLs, which requires no requests. */
export const noRequests: CustomFetch = () => Promise.reject(new SignInError('untrusted', 'unexpected request'))

function fetchUntil(deadline: AbortSignal): CustomFetch {
  return async (address, { method, headers, body, signal }) => {
    const url = new URL(address)
    if (url.protocol !== 'https:' && !isLoopbackUrl(url)) throw new SignInError('untrusted', 'an address without TLS')
    const ends = signal === undefined ? deadline : AbortSignal.any([deadline, signal])
    const init: RequestInit = { method, headers, redirect: 'manual', signal: ends }
    const response = await fetch(url, body === undefined ? init : { ...init, body: readBody(body) }).catch(noAnswer)
    if (response.status >= SERVER_ERRORS || response.status === TOO_MANY_REQUESTS) {
      await response.body?.cancel()
      throw new SignInError('unavailable', `answered ${response.status}`)
    }
    const bytes = await readCapped(response).catch(noAnswer)
    const { status, headers: answered } = response
    return new Response(bytes.length === 0 ? null : bytes, { status, headers: answered })
  }
}

/** The library sends only forms. */
function readBody(body: unknown): URLSearchParams | null {
  return body instanceof URLSearchParams ? body : null
}

async function readCapped(response: Response): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new SignInError('untrusted', 'response too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function noAnswer(error: unknown): never {
  if (error instanceof SignInError) throw error
  throw new SignInError('unavailable', reasonOf(error))
}

/** Returns a code such as `TimeoutError` or `ECONNREFUSED`, never text of the provider. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer'
  const { cause } = error
  return cause instanceof Error && 'code' in cause ? String(cause.code) : error.name
}
