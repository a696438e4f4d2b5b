/**
 * Composes stored responses. Items that a request refers to are joined with its input before it enters the data plane.
 * Its response is committed before the last byte is sent, so that a client can continue it immediately, in any process.
 */
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/schema.ts'
import { deriveKeys, type RotatedSecret } from '../config/secret.ts'
import type { OpenedDatabase } from '../db/database.ts'
import type { SealerKeys } from '../db/sealed.ts'
import type { SavedAnswer } from '../domain/credit.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Caller } from '../domain/identity/caller.ts'
import type { AccountId } from '../domain/ids.ts'
import { type BodyFindings, checkJsonBytes, type ParseLargeBody } from '../domain/json-body.ts'
import { isResponseId, storedResponsesRoutes } from '../features/responses/routes.ts'
import {
  type Chain,
  createResponseStore,
  type Link,
  type ResponseContent,
  type ResponseStore,
  type StoredResponse,
} from '../features/responses/store.ts'
import type { Incoming } from '../gateway/admit.ts'
import type { Gateway } from '../gateway/pipeline.ts'
import type { StoreAnswer } from '../gateway/ports.ts'
import { callerOf } from '../http/caller.ts'
import type { HttpConnection } from '../http/connection.ts'
import { type BodyBudget, MAX_HERE_BYTES, MAX_HERE_VALUES } from '../http/request-body.ts'
import { isRecord, type Json } from '../lib/json.ts'
import { responsesApi, storingResponsesApi } from '../protocols/openai-responses/client/index.ts'
import {
  type OwnItem,
  ownItems,
  referenceIn,
  splitResponse,
  withId,
} from '../protocols/openai-responses/client/stored.ts'
import { responseOfItem } from '../protocols/openai-responses/context.ts'
import type { Log } from '../telemetry/log.ts'
import type { Runtime } from './runtime.ts'

/** A response that is not committed within this time is answered as not stored. */
const STORE_WITHIN_MS = 5_000

export interface StoredResponses {
  /** Has the signature of `Gateway.complete`. */
  complete(incoming: Omit<Incoming, 'api'>, client: HttpConnection): Promise<SavedAnswer | undefined>
  /** Counts the tokens of a prompt, including the items that it refers to. */
  countTokens(caller: Caller, body: unknown, findings: BodyFindings | undefined): Promise<number>
  /** Adds the routes of stored responses. */
  addRoutes(app: FastifyInstance): Promise<void>
}

interface ResponsesInput extends Pick<InputDeps, 'budget' | 'parseLarge'> {
  readonly config: Config
  /** The secret of the installation. */
  readonly secret: Uint8Array
  readonly database: Pick<OpenedDatabase, 'db' | 'batch'>
  readonly runtime: Runtime
  readonly gateway: Gateway
  readonly log: Log
}

export function createStoredResponses(input: ResponsesInput): StoredResponses {
  const { config, database, runtime, gateway, budget, parseLarge, log } = input
  const maxBytes = () => runtime.config().responses.max_account_bytes
  const store = createResponseStore({ ...database, keys: responseKeys(input), maxBytes, now: runtime.now })
  const limitBytes = config.server.body_limit_bytes
  const deps: InputDeps = { store, budget, parseLarge, limitBytes }
  const settings = () => {
    const { store: isOn, max_bytes, max_account_bytes } = runtime.config().responses
    return { store: isOn, maxBytes: Math.min(max_bytes, max_account_bytes) }
  }
  return {
    async complete(incoming, client) {
      if (!settings().store) return await gateway.complete({ ...incoming, api: responsesApi }, client)
      const { caller, body, findings, idempotencyKey, trace } = incoming
      const isKeyed = idempotencyKey !== undefined
      const joined = await joinInput(deps, { caller, body, findings, isKeyed, isAbandoned: client.over })
      try {
        const storing = storingOf(body, joined, settings().maxBytes)
        const { accountId } = caller
        const answer = { accountId, joined, maxBytes: settings().maxBytes, traceId: trace?.context.traceId }
        const request = {
          ...incoming,
          body: joined.body,
          findings: joined.findings,
          api: storingResponsesApi({ ...joined, ...storing }),
          store: storing.store ? storeAnswer({ store, log }, answer) : undefined,
        }
        return await gateway.complete(request, client)
      } finally {
        joined.release()
      }
    },
    async countTokens(caller, body, findings) {
      if (!settings().store) return await gateway.countTokens({ api: responsesApi, caller, body, findings })
      const joined = await joinInput(deps, { caller, body, findings, isKeyed: false, isAbandoned: () => false })
      try {
        const api = storingResponsesApi({ ...joined, store: false, isTooLarge: false })
        return await gateway.countTokens({ api, caller, body: joined.body, findings: joined.findings })
      } finally {
        joined.release()
      }
    },
    async addRoutes(app) {
      await app.register(
        storedResponsesRoutes({ store, callerOf, inputOf: (...of) => inputItems({ store, limitBytes }, ...of) }),
      )
    },
  }
}

export function responseKeys(input: RotatedSecret): SealerKeys {
  return deriveKeys(input, 'stored responses')
}

/** Returns whether the response is stored, unless the request declines it or is itself too large. */
function storingOf(body: unknown, { own }: JoinedInput, maxBytes: number) {
  const isWanted = own !== undefined && !(isRecord(body) && body['store'] === false)
  const isTooLarge = isWanted && own.reduce((bytes, { text }) => bytes + Buffer.byteLength(text), 0) > maxBytes
  return { store: isWanted && !isTooLarge, isTooLarge }
}

interface AnswerToStore {
  readonly accountId: AccountId
  readonly joined: Pick<JoinedInput, 'own' | 'previousId'>
  readonly maxBytes: number
  /** Undefined if the request is not traced. */
  readonly traceId?: string | undefined
}

/** Stores an answer with the input of its request. Returns false if it is too large or not committed in time. */
export function storeAnswer(
  { store, log }: { readonly store: Pick<ResponseStore, 'insert' | 'remove'>; readonly log: Pick<Log, 'warn'> },
  { accountId, joined, maxBytes, traceId: trace_id }: AnswerToStore,
): StoreAnswer {
  return async (answer) => {
    const { own = [], previousId } = joined
    const { id, response, output } = splitResponse(answer)
    const items = [...own.map((item, at) => withId(item, id, at)), ...output]
    const content = { inputItems: own.length, response, items: items.join(',') }
    if (Buffer.byteLength(content.items) + Buffer.byteLength(response) > maxBytes) return false
    const inserting = store.insert({ accountId, id, previousId, content, items: items.length })
    try {
      if (await isDoneWithin(inserting, STORE_WITHIN_MS)) return true
      inserting.then(() => store.remove({ accountId, id })).catch(() => {}) // otherwise retention deletes it
      log.warn({ trace_id, response: id }, 'a response was not stored in time')
    } catch (error) {
      log.warn({ trace_id, response: id, reason: String(error) }, 'a response could not be stored')
    }
    return false
  }
}

async function isDoneWithin(work: Promise<void>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), ms)
  try {
    return await Promise.race([work.then(() => true), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the stored items from which a response was generated, oldest first. */
async function inputItems(
  { store, limitBytes }: Pick<InputDeps, 'store' | 'limitBytes'>,
  accountId: AccountId,
  { previousId, content }: StoredResponse,
): Promise<readonly unknown[]> {
  const own: readonly unknown[] = JSON.parse(`[${content.items}]`)
  const input = own.slice(0, content.inputItems)
  if (previousId === undefined) return input
  const { links } = await store.chain({ accountId, id: previousId }, limitBytes)
  const ids = links.map(({ id }) => id)
  const contents = await store.contents(accountId, ids)
  return [...ids.flatMap((id) => JSON.parse(`[${contents.get(id)?.items ?? ''}]`)), ...input]
}

/*
 * Joins the items that a request to the Responses API refers to with its own input: the conversation of
 * `previous_response_id`, and single items. The result is within all limits of a body and is parsed like one.
 */

interface InputDeps {
  readonly store: ResponseStore
  readonly budget: BodyBudget
  readonly parseLarge: ParseLargeBody
  /** The limit of a body, and of a conversation with the input that continues it. */
  readonly limitBytes: number
}

export interface GivenInput {
  readonly caller: Caller
  readonly body: unknown
  readonly findings: BodyFindings | undefined
  readonly isKeyed: boolean
  readonly isAbandoned: () => boolean
}

interface JoinedInput {
  /** The body with all items in `input` and without `previous_response_id`. */
  readonly body: unknown
  readonly findings: BodyFindings | undefined
  /** Items at the beginning that come from earlier responses. */
  readonly earlierItems: number
  readonly previousId: string | undefined
  /** The items of the request with references replaced. Undefined if the input is invalid. */
  readonly own: readonly OwnItem[] | undefined
  /** Frees the memory of the items. */
  readonly release: () => void
}

/** Rejects with `GatewayError` if an item is not stored, or if the conversation exceeds the limits of a body. */
async function joinInput(deps: InputDeps, given: GivenInput): Promise<JoinedInput> {
  const { body, findings } = given
  const unchanged = { body, findings, earlierItems: 0, previousId: undefined, own: undefined, release: () => {} }
  if (!isRecord(body)) return unchanged
  const own = ownItems(body['input'])
  const { previous_response_id: previousId, ...rest } = body
  if (own === undefined) return { ...unchanged, body: typeof previousId === 'string' ? rest : body }
  const isContinued = typeof previousId === 'string'
  if (!isContinued && !own.some((item) => referenceIn(item) !== undefined)) return { ...unchanged, own }
  const { accountId, keyId } = given.caller
  const chain = isContinued ? await requireChain(deps, given.caller, previousId) : NO_CHAIN
  const referred = await referredLinks(deps, given.caller, own)
  const bytes = sizeOf([...chain.links, ...referred])
  if (bytes > deps.limitBytes) throw tooLarge(deps.limitBytes)
  const { release } = deps.budget.reserve({ account: accountId, key: keyId }, bytes)
  try {
    const ids = new Set([...chain.links, ...referred].map(({ id }) => id))
    const contents = await deps.store.contents(accountId, [...ids])
    const resolved = resolveReferences(own, contents)
    const earlier = chain.links.map(({ id }) => earlierItems(contents.get(id), id))
    const parsed = await parse(deps, given, { rest, earlier, own: resolved })
    const count = chain.links.reduce((sum, { items }) => sum + items, 0)
    return { ...parsed, earlierItems: count, previousId: isContinued ? previousId : undefined, own: resolved, release }
  } catch (error) {
    release()
    throw error
  }
}

const NO_CHAIN: Chain = { links: [], missingId: undefined }

async function requireChain({ store, limitBytes }: InputDeps, { accountId }: Caller, id: string): Promise<Chain> {
  if (!isResponseId(id)) throw notStored(id)
  const chain = await store.chain({ accountId, id }, limitBytes)
  if (sizeOf(chain.links) > limitBytes) throw tooLarge(limitBytes)
  if (chain.missingId !== undefined) throw notStored(id, chain.missingId)
  return chain
}

async function referredLinks(
  { store }: InputDeps,
  { accountId }: Caller,
  own: readonly OwnItem[],
): Promise<readonly Link[]> {
  const ids = own.flatMap((item) => responseOfItem(referenceIn(item) ?? '') ?? [])
  return ids.length === 0 ? [] : await store.links(accountId, [...new Set(ids)])
}

function sizeOf(links: readonly Link[]): number {
  return links.reduce((sum, { itemsBytes }) => sum + itemsBytes, 0)
}

function resolveReferences(
  own: readonly OwnItem[],
  contents: ReadonlyMap<string, ResponseContent>,
): readonly OwnItem[] {
  const items = new Map<string, Json>()
  const read = new Set<string>()
  return own.map((one, at) => {
    const reference = referenceIn(one)
    if (reference === undefined) return one
    const responseId = responseOfItem(reference) ?? ''
    if (!read.has(responseId)) {
      read.add(responseId)
      const stored: readonly Json[] = JSON.parse(`[${contents.get(responseId)?.items ?? ''}]`)
      for (const item of stored) items.set(String(item['id']), item)
    }
    const item = items.get(reference)
    if (item === undefined) throw unknownItem(reference, at)
    return { item, text: JSON.stringify(item) }
  })
}

/** Returns earlier items. A response that was just deleted, or that can no longer be unsealed, counts as missing. */
function earlierItems(content: ResponseContent | undefined, id: string): string {
  if (content === undefined) throw notStored(id)
  return content.items
}

interface Joined {
  /** The other fields of the body. */
  readonly rest: Json
  /** JSON texts of items, joined with commas; may be empty. */
  readonly earlier: readonly string[]
  readonly own: readonly OwnItem[]
}

async function parse(
  { parseLarge, limitBytes }: InputDeps,
  { caller, isKeyed, isAbandoned }: GivenInput,
  { rest, earlier, own }: Joined,
): Promise<Pick<JoinedInput, 'body' | 'findings'>> {
  const items = [...earlier, ...own.map(({ text }) => text)].filter((text) => text !== '')
  const { input: _, ...others } = rest
  const fields = Object.keys(others).map((name) => `${JSON.stringify(name)}:${JSON.stringify(others[name])}`)
  const bytes = Buffer.from(`{${[...fields, `"input":[${items.join(',')}]`].join(',')}}`)
  if (bytes.length > limitBytes) throw tooLarge(limitBytes)
  if (bytes.length <= MAX_HERE_BYTES && checkJsonBytes(bytes).values <= MAX_HERE_VALUES)
    return { body: JSON.parse(bytes.toString('utf8')), findings: undefined }
  const { endpoint } = responsesApi
  return await parseLarge({ bytes, owner: caller.accountId, endpoint, isKeyed, isAbandoned })
}

/** @param missingId The missing response if it is an earlier one of the conversation. */
function notStored(id: string, missingId = id): GatewayError {
  const why = missingId === id ? '' : `: it continues '${missingId}', which is not stored any more`
  const message = `Previous response with id '${id.slice(0, 100)}' not found${why}. Send all items of the conversation as \`input\`.`
  return new GatewayError('previous_response_not_found', message, { param: 'previous_response_id' })
}

function unknownItem(id: string, at: number): GatewayError {
  const param = `input[${at}]`
  const message = `Item with id '${id.slice(0, 100)}' not found. Send the item itself.`
  return new GatewayError('invalid_value', message, { param })
}

function tooLarge(limitBytes: number): GatewayError {
  const message = `The conversation with this input exceeds ${limitBytes} bytes. Begin a new one, with less as \`input\`.`
  return new GatewayError('body_too_large', message, { param: 'previous_response_id' })
}
