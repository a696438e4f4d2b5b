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
import type { Caller } from '../domain/identity/caller.ts'
import type { AccountId } from '../domain/ids.ts'
import type { BodyFindings } from '../domain/json-body.ts'
import { storedResponsesRoutes } from '../features/responses/routes.ts'
import { createResponseStore, type ResponseStore, type StoredResponse } from '../features/responses/store.ts'
import type { Incoming } from '../gateway/admit.ts'
import type { Gateway } from '../gateway/pipeline.ts'
import type { StoreAnswer } from '../gateway/ports.ts'
import { callerOf } from '../http/caller.ts'
import type { HttpConnection } from '../http/connection.ts'
import { isRecord } from '../lib/json.ts'
import { responsesApi, storingResponsesApi } from '../protocols/openai-responses/client/index.ts'
import { splitResponse, withId } from '../protocols/openai-responses/client/stored.ts'
import type { Log } from '../telemetry/log.ts'
import type { Runtime } from './runtime.ts'
import { type InputDeps, type JoinedInput, joinInput } from './stored-input.ts'

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
      const { caller, body, findings, idempotencyKey } = incoming
      const isKeyed = idempotencyKey !== undefined
      const joined = await joinInput(deps, { caller, body, findings, isKeyed, isAbandoned: client.over })
      try {
        const storing = storingOf(body, joined, settings().maxBytes)
        const answer = { accountId: caller.accountId, joined, maxBytes: settings().maxBytes }
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
}

/** Stores an answer with the input of its request. Returns false if it is too large or not committed in time. */
export function storeAnswer(
  { store, log }: { readonly store: Pick<ResponseStore, 'insert' | 'remove'>; readonly log: Pick<Log, 'warn'> },
  { accountId, joined, maxBytes }: AnswerToStore,
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
      log.warn({ response: id }, 'a response was not stored in time')
    } catch (error) {
      log.warn({ response: id, reason: String(error) }, 'a response could not be stored')
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
