/** The public API, typed by its own description. Every request carries the session's token. */
import createClient, { type Middleware } from 'openapi-fetch'
import { parseProblem } from './problem.ts'
import type { paths } from './schema.d.ts'
import { dropToken, readSession } from './session.ts'

const authorised: Middleware = {
  async onRequest({ request }) {
    request.headers.set('authorization', await authorization())
    return request
  },
}

export const api = createClient<paths, 'application/json'>({
  baseUrl: globalThis.location?.origin ?? '', // (unit tests have no page)
  fetch: (request) => send(request),
})
api.use(authorised)

interface Answer<Data> {
  readonly data?: Data
  readonly error?: unknown
  readonly response: Response
}

/** What was asked for. Rejects with an `ApiProblem` when the answer says otherwise. */
export async function take<Data>(answer: Promise<Answer<Data>>): Promise<Exclude<Data, undefined>> {
  const { data, error, response } = await answer
  if (!response.ok) throw parseProblem(response, error)
  return data as Exclude<Data, undefined> // absent only where the description says that there is no body
}

/** For streams, files and text: the answer as it comes. Rejects with an `ApiProblem` unless its status is 2xx. */
export async function fetchRaw(path: string, init: RequestInit = {}): Promise<Response> {
  const request = new Request(new URL(path, location.origin), init)
  request.headers.set('authorization', await authorization())
  const response = await send(request)
  if (response.ok) return response
  throw parseProblem(response, await response.json().catch(() => undefined))
}

async function authorization(): Promise<string> {
  return `Bearer ${(await readSession()).access_token}`
}

/** A token that was refused, because the session moved or its secret was changed, is replaced once. */
async function send(request: Request): Promise<Response> {
  const again = request.clone()
  const response = await fetch(request)
  if (response.status !== 401) return response
  dropToken()
  again.headers.set('authorization', await authorization())
  return fetch(again)
}
