/**
 * Requests to identity providers. What they answer is read up to a cap, no redirect is followed, nothing leaves in clear but to
 * this machine itself, and all the requests of one visit together may take only so long.
 */
import type { CustomFetch } from 'openid-client'
import { isLoopbackUrl } from '../../lib/ip-address.ts'
import { SignInError } from './failure.ts'

export interface OutboundLimits {
  /** One request, with its answer. */
  readonly requestMs: number
  /** All the requests of one visit. */
  readonly visitMs: number
}

export const OUTBOUND_LIMITS: OutboundLimits = { requestMs: 5_000, visitMs: 10_000 }
const MAX_ANSWER_BYTES = 256 * 1024
/** Visits that wait for an identity provider. */
const MAX_VISITS = 64
const TOO_MANY_REQUESTS = 429
const SERVER_ERRORS = 500

export interface Outbound {
  /** What `openid-client` counts as its time-out. */
  readonly requestSeconds: number
  /** @throws SignInError `busy` when too many are at it. */
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

/** Where an address is only put together. */
export const noRequests: CustomFetch = () => Promise.reject(new SignInError('untrusted', 'a request too many'))

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

/** The library sends forms, and nothing else. */
function readBody(body: unknown): URLSearchParams | null {
  return body instanceof URLSearchParams ? body : null
}

async function readCapped(response: Response): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new SignInError('untrusted', 'an answer that is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function noAnswer(error: unknown): never {
  if (error instanceof SignInError) throw error
  throw new SignInError('unavailable', reasonOf(error))
}

/** Such as `TimeoutError`, `ECONNREFUSED`: words of the system, not of who answered. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer'
  const { cause } = error
  return cause instanceof Error && 'code' in cause ? String(cause.code) : error.name
}
