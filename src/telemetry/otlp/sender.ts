/**
 * Sends OTLP bodies over HTTP: gzip, time-out, and the retries that the protocol asks for. Outside a batch it keeps nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { parseRetryAfter } from '../../lib/time.ts'

export interface OtlpEndpoint {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly protocol: 'http/protobuf' | 'http/json'
  readonly gzip: boolean
  readonly timeoutMs: number
}

/** Accepted, or why not. */
export type SendResult = { readonly ok: true } | { readonly ok: false; readonly reason: string }

export interface Sender {
  /** Never rejects. */
  send(body: Uint8Array): Promise<SendResult>
}

/** Answers that OTLP/HTTP says to retry. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])
const MAX_ATTEMPTS = 3
const FIRST_BACKOFF_MS = 1_000
const MAX_REASON_LENGTH = 200
const zip = promisify(gzip)
/** Batches repeat themselves: more effort takes four times as long for a few percent. */
const FAST = { level: 1 }

/** @param dispatcher Guarded where tenants choose the address; undefined: any address. */
export function createSender(endpoint: OtlpEndpoint, dispatcher?: Dispatcher, attempts = MAX_ATTEMPTS): Sender {
  return {
    async send(body) {
      const sent = endpoint.gzip ? await zip(body, FAST) : body
      for (let attempt = 1; ; attempt++) {
        const result = await sendOnce(endpoint, dispatcher, sent)
        if (result.ok || result.retryMs === undefined || attempt >= attempts) return result
        await sleep(Math.max(result.retryMs, FIRST_BACKOFF_MS * 2 ** (attempt - 1)), undefined, { ref: false })
      }
    },
  }
}

type Attempt = { readonly ok: true } | { readonly ok: false; readonly reason: string; readonly retryMs?: number }

async function sendOnce(
  endpoint: OtlpEndpoint,
  dispatcher: Dispatcher | undefined,
  body: Uint8Array,
): Promise<Attempt> {
  try {
    const { request } = await import('undici')
    const answer = await request(endpoint.url, {
      method: 'POST',
      headers: headersOf(endpoint),
      body,
      signal: AbortSignal.timeout(endpoint.timeoutMs),
      ...(dispatcher !== undefined && { dispatcher }),
    })
    const { statusCode: status, headers } = answer
    answer.body.dump().catch(() => {}) // the status says it all
    if (status >= 200 && status < 300) return { ok: true }
    const reason = `status ${status}`
    if (!RETRYABLE.has(status)) return { ok: false, reason }
    return { ok: false, reason, retryMs: parseRetryAfter(firstOf(headers['retry-after']), Date.now()) ?? 0 }
  } catch (error) {
    return { ok: false, reason: reasonOf(error), retryMs: 0 }
  }
}

function headersOf({ protocol, gzip: isZipped, headers }: OtlpEndpoint): Record<string, string> {
  return {
    ...headers,
    'content-type': protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
    'user-agent': 'turnpike',
    ...(isZipped && { 'content-encoding': 'gzip' }),
  }
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? ('code' in error ? String(error.code) : error.message) : String(error)
  return text.slice(0, MAX_REASON_LENGTH)
}
