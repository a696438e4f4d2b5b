/** Calls the API of a server with the credential of a target. */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRecord, textOf } from '../../lib/json.ts'
import { signedOut } from './auth/bearer.ts'
import { type Answer, ask, errorTextOf, open, UnreachableError } from './http.ts'
import { chooseTarget, type Target, type TargetOptions } from './target.ts'

export interface Client {
  readonly target: Target
  /** Returns the JSON of a path below `/v1`. Rejects with the server's message, or with advice. */
  get(path: string): Promise<unknown>
  /** Returns the JSON of the response; undefined for an empty one. Rejects as `get` does. */
  send(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<unknown>
  /** Sends a change that the server applies once per idempotency key. Rejects as `get` does. */
  sendOnce(path: string, body: object, idempotencyKey: string): Promise<unknown>
  /** Returns plain text unchanged. Rejects as `get` does. */
  read(path: string): Promise<Pick<Answer, 'text' | 'headers'>>
  /** Returns the response of a streaming request once its headers have arrived. */
  stream(path: string, body: object, signal: AbortSignal): Promise<Response>
  /** Opens an event stream that resumes after `lastEventId`. */
  listen(path: string, listening: Listening): Promise<Response>
}

export interface Listening {
  /** Undefined: from the beginning. */
  readonly lastEventId: string | undefined
  readonly signal: AbortSignal
}

/** The server responded with an error. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly status: number
  /** '' if the response has none. */
  readonly code: string
  constructor(message: string, { status, code = '' }: { readonly status: number; readonly code?: string }) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** Whether the same request may succeed a little later. */
export function mayPass(error: unknown): boolean {
  if (error instanceof RefusedError) return error.status >= 500 || error.status === 429 || error.status === 408
  return error instanceof UnreachableError
}

/** Returns a client of the server and identity that the options select. */
export async function clientOf(options: TargetOptions): Promise<Client> {
  return createClient(await chooseTarget(options))
}

export function createClient(target: Target): Client {
  const at = (path: string) => `${target.url}/v1${path}`
  return {
    target,
    async get(path) {
      const answer = await authorized(target, (headers) => ask(at(path), { headers }))
      if (answer.status !== 200) throw refusal(target, answer)
      return answer.json ?? notOurs(target)
    },
    send: (method, path, body) => change(target, at(path), { method, body }),
    sendOnce: (path, body, key) => change(target, at(path), { method: 'POST', body, more: { 'idempotency-key': key } }),
    async read(path) {
      const answer = await authorized(target, (headers) => ask(at(path), { headers: { ...headers, ...TEXT } }))
      if (answer.status !== 200) throw refusal(target, answer)
      return answer.headers.get('content-type')?.startsWith('text/plain') === true ? answer : notOurs(target)
    },
    async stream(path, body, signal) {
      const text = JSON.stringify(body)
      const response = await authorized(target, (headers) =>
        open(at(path), { method: 'POST', headers: { ...headers, ...JSON_BODY, ...STREAM }, body: text, signal }),
      )
      return streamed(target, response)
    },
    async listen(path, { lastEventId, signal }) {
      const after = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
      const response = await authorized(target, (headers) =>
        open(at(path), { headers: { ...headers, ...STREAM, ...after }, signal }),
      )
      const events = await streamed(target, response)
      if (events.headers.get('content-type')?.startsWith(STREAM.accept) === true) return events
      await events.body?.cancel()
      return notOurs(target)
    },
  }
}

const JSON_BODY = { 'content-type': 'application/json' } as const
const STREAM = { accept: 'text/event-stream' } as const
const TEXT = { accept: 'text/plain, application/json' } as const

interface Change {
  readonly method: 'POST' | 'PATCH' | 'DELETE'
  readonly body: object | undefined
  readonly more?: Readonly<Record<string, string>>
}

async function change(target: Target, url: string, { method, body, more = {} }: Change): Promise<unknown> {
  const content = body === undefined ? {} : { body: JSON.stringify(body) }
  const own = body === undefined ? more : { ...JSON_BODY, ...more }
  const answer = await authorized(target, (headers) =>
    ask(url, { method, headers: { ...headers, ...own }, ...content }),
  )
  if (answer.status === 204) return undefined
  if (answer.status < 200 || answer.status > 299) throw refusal(target, answer)
  return answer.json ?? notOurs(target)
}

async function streamed(target: Target, response: Response): Promise<Response> {
  if (response.status === 200) return response
  throw refusal(target, { status: response.status, json: await response.json().catch(() => undefined) })
}

/** Repeats a request once with a renewed credential after a 401, if there is one. */
async function authorized<Given extends { readonly status: number }>(
  { bearer, url, profile }: Target,
  send: (headers: Readonly<Record<string, string>>) => Promise<Given>,
): Promise<Given> {
  const credential = await bearer.current()
  const answer = await send({ authorization: `Bearer ${credential}` })
  if (answer.status !== 401) return answer
  const other = await bearer.renewed(credential)
  const again = other === undefined ? answer : await send({ authorization: `Bearer ${other}` })
  if (again.status !== 401) return again
  if (profile !== undefined) throw signedOut(profile, 'was revoked or has expired')
  throw new Error(`${url} rejected the key in TURNPIKE_API_KEY: it is invalid, expired or revoked.`)
}

function refusal({ url }: Target, answer: Pick<Answer, 'status' | 'json'>): RefusedError {
  const { status, json } = answer
  const error = isRecord(json) && isRecord(json['error']) ? json['error'] : {}
  return new RefusedError(`${url}: ${errorTextOf(answer)}`, { status, code: textOf(error['code']) })
}

function notOurs({ url }: Target): never {
  throw new Error(`${url} is not a Turnpike server. Check the address.`)
}

/** Delays before the second, third and fourth attempt. */
const WAITS_MS: readonly number[] = [300, 700, 2_000]

/** Sends a request, and again with the same key if there was no response or the server was busy. Rejects as `get` does. */
export async function postIdempotent(client: Client, path: string, body: object): Promise<unknown> {
  const key = randomUUID()
  for (const waitMs of WAITS_MS) {
    try {
      return await client.sendOnce(path, body, key)
    } catch (error) {
      if (!helpsToRepeat(error)) throw error
    }
    await sleep(waitMs)
  }
  return client.sendOnce(path, body, key).catch(leaveOpen)
}

/** A disabled feature stays disabled for the seconds of the retries. */
function helpsToRepeat(error: unknown): boolean {
  return mayPass(error) && !(error instanceof RefusedError && error.code === 'agents_unavailable')
}

function leaveOpen(error: unknown): never {
  if (!(error instanceof UnreachableError)) throw error
  const message = `${error.message} The request may have succeeded: run 'turnpike agents list' to check.`
  throw new Error(message, { cause: error })
}
