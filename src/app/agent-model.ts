/**
 * Sends the model calls of agents through the gateway, like those of any client, with the rights of the run's creator,
 * which each call looks up. Receives the answer in memory instead of over a connection.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema/schema.ts'
import { teamRolesOf } from '../db/shared-queries.ts'
import { agentReference } from '../domain/agent.ts'
import { storedPolicies } from '../domain/data-policy.ts'
import { GatewayError } from '../domain/errors.ts'
import { activeCapture, type Caller, type Role, rightsOfRole } from '../domain/identity/caller.ts'
import type { AccountId, DeviceId, IdSource, UserId } from '../domain/ids.ts'
import { parseNanoUsd } from '../domain/money.ts'
import type { Creator } from '../features/agents/store.ts'
import type { ModelOrder } from '../features/agents/worker/deps.ts'
import { checkAddress, loadKeyById } from '../features/keys/authenticator.ts'
import { findConnectedDevice } from '../features/oauth/devices.ts'
import { inRole } from '../features/oauth/scopes.ts'
import { inTeam } from '../features/teams/queries.ts'
import type { Gateway } from '../gateway/pipeline.ts'
import type { ClientConnection } from '../gateway/ports.ts'
import { isRecord, parseJson } from '../lib/json.ts'
import { chatCompletionsApi } from '../protocols/openai-chat/client/index.ts'
import type { AskModel, ModelAnswer, ModelRequest, ToolCallMessage } from '../runner/ports.ts'

interface AskModelInput {
  readonly complete: Gateway['complete']
  /** Rejects with `GatewayError` when the creator has lost access. */
  readonly callerOf: (accountId: AccountId, creator: Creator) => Promise<Caller>
  readonly ids: Pick<IdSource, 'request'>
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

export function modelAsker({ complete, callerOf, ids, clock }: AskModelInput): (order: ModelOrder) => AskModel {
  return ({ accountId, agentId, runId, model, creator }) =>
    async (request, signal) => {
      const caller = await callerOf(accountId, creator)
      if (!caller.scopes.has('agents:write')) {
        throw new GatewayError(
          'insufficient_scope',
          "The requester of this run no longer has the right 'agents:write'.",
        )
      }
      signal.throwIfAborted()
      const asked = {
        api: chatCompletionsApi,
        caller: { ...caller, requireTags: undefined }, // agents send no tags
        body: bodyOf(model, request),
        requestId: ids.request(),
        clientRequestId: agentReference(agentId, runId),
        attribution: { session: agentId },
        idempotencyKey: undefined,
        receivedAt: clock(),
      }
      return readAnswer(await answered((client) => complete(asked, client), signal))
    }
}

/**
 * Returns the body of a complete answer. Disconnects when the signal is aborted, without waiting for the call, which
 * the gateway may read to its end for the exact usage.
 */
async function answered(
  complete: (client: ClientConnection) => Promise<unknown>,
  signal: AbortSignal,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let body = ''
  let leave = (): void => undefined
  const abort = (): void => {
    leave()
    reject(signal.reason)
  }
  signal.addEventListener('abort', abort, { once: true })
  const client: ClientConnection = {
    onLeave(listener) {
      leave = listener
      if (signal.aborted) listener()
    },
    streaming: () => false,
    expectStream: () => undefined,
    write: () => undefined,
    endStream: () => undefined,
    sendJson(text) {
      body = text
    },
  }
  complete(client).then(() => resolve(body), reject)
  return promise.finally(() => signal.removeEventListener('abort', abort))
}

function bodyOf(model: string, { messages, tools, maxTokens }: ModelRequest): object {
  return {
    model,
    messages,
    ...(tools.length > 0 ? { tools } : {}),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
  }
}

/** The answer as `gateway/deliver.ts` wrote it. */
interface Answered {
  readonly id: string
  readonly choices: readonly {
    readonly finish_reason: string
    readonly message: { readonly content: string | null; readonly tool_calls?: readonly ToolCallMessage[] }
  }[]
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly cost: number }
}

function readAnswer(text: string): ModelAnswer {
  const json = parseJson(text)
  if (!isRecord(json)) throw new Error('The gateway returned no JSON object.')
  const { id, choices, usage } = json as unknown as Answered // from the gateway
  const [choice] = choices
  if (choice === undefined) throw new Error('The answer of the gateway has no choice.')
  const { content, tool_calls: calls } = choice.message
  const costNanoUsd = parseNanoUsd(usage.cost)
  if (costNanoUsd === undefined) throw new Error('The answer of the gateway has no cost.')
  return {
    message: { role: 'assistant', content, ...(calls === undefined ? {} : { tool_calls: calls }) },
    finishReason: choice.finish_reason,
    promptTokens: usage.prompt_tokens,
    completionTokens: usage.completion_tokens,
    costNanoUsd,
    completionId: id,
  }
}

interface CreatorInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
}

/**
 * Looks up a creator as caller. Rejects with 401 when access has ended, and 403 for an address that the key excludes.
 */
export function creatorCallers(input: CreatorInput): (accountId: AccountId, creator: Creator) => Promise<Caller> {
  const callerOf = async (accountId: AccountId, creator: Creator): Promise<Caller> => {
    switch (creator.kind) {
      case 'key':
        return callerOfKey(input, accountId, creator)
      case 'token':
        return callerOfDevice(input, accountId, creator)
      case 'session':
        return callerOfMember(input, accountId, creator)
    }
  }
  return async (accountId, creator) => {
    const caller = await callerOf(accountId, creator)
    return creator.teamId === undefined ? caller : inTeam(input.db, caller, creator.teamId)
  }
}

async function callerOfKey(
  { db, now }: CreatorInput,
  accountId: AccountId,
  { keyId, address }: Creator,
): Promise<Caller> {
  const key = await loadKeyById(db, { accountId, keyId })
  if (key === undefined) throw gone('The API key that requested this run was revoked.')
  if (key.expiresAt <= now()) throw gone('The API key that requested this run has expired.')
  checkAddress(key, address)
  return key.caller
}

async function callerOfDevice({ db }: CreatorInput, accountId: AccountId, { keyId }: Creator): Promise<Caller> {
  const id = keyId as string as DeviceId // the usage of a device is recorded under its ID
  const device = await findConnectedDevice(db, { accountId, id })
  const account = await accountOf(db, accountId)
  if (device === undefined || account === undefined) throw gone('The device that requested this run was disconnected.')
  const { userId, role } = device
  const teams = await teamRolesOf(db, { accountId, userId })
  return {
    ...PERSON,
    kind: 'token',
    accountId,
    keyId,
    userId,
    role,
    teams,
    plan: account.plan,
    dataPolicies: storedPolicies([account.data_policy]),
    providerCredentials: account.provider_credentials ?? undefined,
    guardrails: account.guardrails ?? undefined,
    contentCapture: activeCapture(account.content_capture),
    scopes: new Set(inRole(device.scopes, role)),
  }
}

async function callerOfMember({ db }: CreatorInput, accountId: AccountId, { keyId, userId }: Creator): Promise<Caller> {
  const role = userId === undefined ? undefined : await roleOf(db, accountId, userId)
  const account = await accountOf(db, accountId)
  if (role === undefined || userId === undefined || account === undefined)
    throw gone('The user who requested this run is no longer a member of the account.')
  const { plan, provider_credentials: version } = account
  const dataPolicies = storedPolicies([account.data_policy])
  const providerCredentials = version ?? undefined
  const teams = await teamRolesOf(db, { accountId, userId })
  const rights = { role, teams, scopes: rightsOfRole(role) }
  const guardrails = account.guardrails ?? undefined
  const contentCapture = activeCapture(account.content_capture)
  const person = { ...PERSON, kind: 'session', accountId, keyId, userId, plan } as const
  return { ...person, dataPolicies, providerCredentials, guardrails, contentCapture, ...rights }
}

const PERSON = { models: undefined, requestsPerMinute: undefined, monthlyBudgetNanoUsd: undefined }

async function roleOf(db: Kysely<Database>, accountId: AccountId, userId: UserId): Promise<Role | undefined> {
  const row = await db
    .selectFrom('member')
    .innerJoin('person', 'person.id', 'member.user_id')
    .select('member.role')
    .where('member.account_id', '=', accountId)
    .where('member.user_id', '=', userId)
    .where('member.removed_at', 'is', null)
    .where('person.disabled_at', 'is', null)
    .executeTakeFirst()
  return row?.role
}

function accountOf(db: Kysely<Database>, accountId: AccountId) {
  const query = db
    .selectFrom('account')
    .select(['plan', 'provider_credentials', 'guardrails', 'content_capture', 'data_policy'])
    .where('id', '=', accountId)
  return query.executeTakeFirst()
}

function gone(message: string): GatewayError {
  return new GatewayError('invalid_credential', message)
}
