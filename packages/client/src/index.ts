/** A typed client of the gateway's API, whose types are made from its OpenAPI description, with streams as iterators. */
import createClient, { type Client } from 'openapi-fetch'
import type { paths } from '../../../dashboard/src/api/schema.d.ts'
import { readEvents, type StreamEvent } from './events.ts'

export type { paths } from '../../../dashboard/src/api/schema.d.ts'
export type { StreamEvent } from './events.ts'

export interface TurnpikeOptions {
  /** The address of the gateway, such as `https://ai.example.com`. */
  readonly baseUrl: string
  readonly apiKey: string
  /** By default, the platform's own. */
  readonly fetch?: (request: Request) => Promise<Response>
}

export interface StreamOptions {
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

/** Endpoints that answer with a stream where the body has `stream: true`. */
export type StreamPath = '/v1/chat/completions' | '/v1/completions' | '/v1/messages' | '/v1/responses'

export interface Turnpike {
  readonly api: Client<paths, 'application/json'>
  /** Yields the events of a streamed answer. Rejects with a `TurnpikeError` if it is refused or fails. */
  stream(path: StreamPath, body: object, options?: StreamOptions): AsyncGenerator<StreamEvent, void, undefined>
}

/** An error of the gateway; docs/errors.md lists the codes. */
export class TurnpikeError extends Error {
  override readonly name = 'TurnpikeError'
  readonly status: number
  readonly code: string | undefined
  readonly requestId: string | undefined

  constructor(status: number, body: unknown) {
    const error = errorOf(body)
    super(error.message ?? `The gateway answered ${status}.`)
    this.status = status
    this.code = error.code
    this.requestId = error.request_id
  }
}

interface ErrorFields {
  readonly message?: string
  readonly code?: string
  readonly request_id?: string
}

/** Of `/v1/messages`, the ID of the request stands beside the error. */
function errorOf(body: unknown): ErrorFields {
  if (typeof body !== 'object' || body === null || !('error' in body)) return {}
  const { error, ...beside } = body
  return typeof error === 'object' && error !== null ? { ...beside, ...error } : {}
}

export function createTurnpike({ baseUrl, apiKey, fetch = globalThis.fetch }: TurnpikeOptions): Turnpike {
  const authorization = `Bearer ${apiKey}`
  const root = baseUrl.replace(/\/+$/, '')
  return {
    api: createClient<paths, 'application/json'>({ baseUrl: root, headers: { authorization }, fetch }),
    async *stream(path, body, { signal, headers } = {}) {
      const request = new Request(root + path, {
        method: 'POST',
        headers: { ...headers, authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, stream: true }),
        signal: signal ?? null,
      })
      const response = await fetch(request)
      if (!response.ok || response.body === null) {
        throw new TurnpikeError(response.status, await response.json().catch(() => undefined))
      }
      for await (const event of readEvents(response.body)) {
        if (event.data === '[DONE]') return
        if (isFailure(event)) throw new TurnpikeError(response.status, JSON.parse(event.data))
        yield event
      }
    },
  }
}

function isFailure({ event, data }: StreamEvent): boolean {
  return event === 'error' || (event === undefined && data.startsWith('{"error":'))
}
