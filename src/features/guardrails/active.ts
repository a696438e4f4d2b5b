/** The rows of guardrails, those that apply to a caller, compiled, in memory, and the calls of their HTTP hooks. */

import { createHmac } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Dispatcher } from 'undici'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database, GuardrailTable } from '../../db/schema/schema.ts'
import { notFound } from '../../domain/errors.ts'
import { compileGuard, type Guard, type GuardrailsPort } from '../../domain/guardrails/guard.ts'
import type { CallHook, GuardrailRule, HookQuestion, HookVerdict, NamedRule } from '../../domain/guardrails/rule.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, GuardrailId } from '../../domain/ids.ts'
import { signWebhook } from '../../domain/webhook-signature.ts'
import type { PageRequest } from '../../http/page.ts'
import { createVersionedCache } from '../../lib/collections.ts'
import { isRecord } from '../../lib/json.ts'
import { checkTarget, readBounded } from '../../net/guarded-agent.ts'

/** Accounts whose guardrails are in memory. */
export const MAX_CACHED_ACCOUNTS = 10_000

interface Input {
  readonly db: Kysely<Database>
  /** Calls the hook of an account's rule. */
  readonly hookOf: (accountId: AccountId) => CallHook
  readonly capacity?: number
}

interface ActiveGuardrail {
  readonly rules: readonly NamedRule[]
  /** Undefined, as the teams: for the whole account. */
  readonly keys: ReadonlySet<string> | undefined
  readonly teams: ReadonlySet<string> | undefined
}

interface Entry {
  readonly version: number
  readonly accountId: AccountId
  readonly all: readonly ActiveGuardrail[]
  /** By which of them apply. */
  readonly compiled: Map<string, Guard | undefined | Promise<Guard | undefined>>
}

export function createActiveGuardrails({ db, hookOf, capacity = MAX_CACHED_ACCOUNTS }: Input): GuardrailsPort {
  const cache = createVersionedCache<Entry>(capacity, (id) => readEntry(db, id as AccountId))
  const guardOf = (entry: Entry, caller: Caller): Guard | undefined | Promise<Guard | undefined> => {
    const { accountId, all, compiled } = entry
    const applying = all.map((each) => applies(each, caller))
    const which = applying.map(Number).join('')
    if (compiled.has(which)) return compiled.get(which)
    const rules = all.filter((_, position) => applying[position]).flatMap((each) => each.rules)
    const compiling = compileGuard(rules, hookOf(accountId))
    compiled.set(which, compiling)
    return compiling.then((guard) => {
      compiled.set(which, guard)
      return guard
    })
  }
  return {
    guardOf(caller) {
      const { accountId, guardrails: version } = caller
      if (version === undefined) return undefined
      const entry = cache.get(accountId, version)
      return entry instanceof Promise ? entry.then((found) => guardOf(found, caller)) : guardOf(entry, caller)
    },
  }
}

/** Those of a key also apply to the keys that it created. */
function applies({ keys, teams }: ActiveGuardrail, { keyId, teamId, ancestors = [] }: Caller): boolean {
  if (keys === undefined && teams === undefined) return true
  if (teamId !== undefined && teams?.has(teamId) === true) return true
  return keys !== undefined && (keys.has(keyId) || ancestors.some((above) => keys.has(above.keyId)))
}

async function readEntry(db: Kysely<Database>, accountId: AccountId): Promise<Entry> {
  const rows = await db
    .selectFrom('account')
    .leftJoin('guardrail', (join) =>
      join.onRef('guardrail.account_id', '=', 'account.id').on('guardrail.enabled', '=', 1),
    )
    .select(['account.guardrails', 'guardrail.id', 'guardrail.name', 'guardrail.rules'])
    .select(['guardrail.keys', 'guardrail.teams'])
    .where('account.id', '=', accountId)
    .orderBy('guardrail.id')
    .execute()
  const all = rows.flatMap(({ name, rules, keys, teams }): readonly ActiveGuardrail[] => {
    if (name === null || rules === null) return []
    const named = (JSON.parse(rules) as readonly GuardrailRule[]).map((rule) => ({ guardrail: name, rule }))
    return [{ rules: named, keys: setOf(keys), teams: setOf(teams) }]
  })
  return { version: rows[0]?.guardrails ?? 0, accountId, all, compiled: new Map() }
}

function setOf(list: string | null): ReadonlySet<string> | undefined {
  return list === null ? undefined : new Set(JSON.parse(list) as readonly string[])
}

/*
 * Calls the HTTP hook of a guardrail: signs the question as webhooks are signed, within one deadline, to an address
 * that is allowed now. Answers are read up to a limit; redirects are not followed.
 */

/** Bytes read of a hook's answer, beyond what was sent. */
const ANSWER_BYTES = 64 * 1024

interface HookInput {
  /** Connects to allowed addresses only. */
  readonly agent: () => Dispatcher
  readonly allowPrivateNetworks: () => boolean
  /** Signing secrets of accounts are derived from it. */
  readonly key: Uint8Array
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: { warn(fields: object, message: string): void }
}

/** The secret that an account's hooks verify signatures with. */
export function hookSecret(key: Uint8Array, accountId: AccountId): string {
  return `whsec_${createHmac('sha256', key).update(accountId).digest('base64')}`
}

export function createHookCaller(input: HookInput): (accountId: AccountId) => CallHook {
  const { log } = input
  return (accountId) => async (named, question) => {
    const { guardrail, rule } = named
    try {
      const body = JSON.stringify({ guardrail, ...question })
      return verdictOf(await post(input, { accountId, url: rule.url, body, timeoutMs: rule.timeout_ms }), question)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const { stage, request_id: requestId, trace_id } = question
      const fields = { requestId, trace_id, account: accountId, guardrail, stage, reason }
      log.warn(fields, 'the hook of a guardrail did not answer')
      return undefined
    }
  }
}

interface Posting {
  readonly accountId: AccountId
  readonly url: string
  readonly body: string
  readonly timeoutMs: number
}

async function post(input: HookInput, { accountId, url, body, timeoutMs }: Posting): Promise<unknown> {
  const { agent, allowPrivateNetworks, key, now } = input
  const timestamp = Math.floor(now() / 1000)
  const secrets = [hookSecret(key, accountId)]
  const { request } = await import('undici')
  const response = await request(checkTarget(url, { allowPrivateNetworks: allowPrivateNetworks() }), {
    method: 'POST',
    dispatcher: agent(),
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      'content-type': 'application/json',
      ...signWebhook({ id: `grd_${timestamp}`, timestamp, body: Buffer.from(body), secrets }),
    },
    body,
  })
  const text = await readBounded(response.body, body.length + ANSWER_BYTES)
  if (response.statusCode < 200 || response.statusCode > 299) throw new Error(`status ${response.statusCode}`)
  return JSON.parse(text)
}

const ACTIONS: ReadonlySet<unknown> = new Set(['allow', 'mask', 'block'])
/** Characters of a reason that clients see. */
const REASON_LENGTH = 500

/** Throws for what is not a verdict: a hook that answers nonsense has not answered. */
function verdictOf(answer: unknown, { texts }: HookQuestion): HookVerdict {
  if (!isRecord(answer) || !ACTIONS.has(answer['action'])) throw new Error('its answer has no known `action`')
  const action = answer['action'] as HookVerdict['action']
  const { reason, texts: masked } = answer
  if (action === 'mask' && !areTexts(masked, texts.length)) {
    throw new Error(`its answer must have ${texts.length} \`texts\``)
  }
  return {
    action,
    ...(typeof reason === 'string' && { reason: reason.slice(0, REASON_LENGTH) }),
    ...(action === 'mask' && { texts: masked as readonly string[] }),
  }
}

function areTexts(value: unknown, length: number): boolean {
  return Array.isArray(value) && value.length === length && value.every((text) => typeof text === 'string')
}

/* Rows of guardrails. Every change also raises the account's version of them, so that all processes read again. */

export interface GuardrailReference {
  readonly accountId: AccountId
  readonly id: GuardrailId
}

/** By creation; IDs sort by time. */
export function listGuardrails(
  db: Kysely<Database>,
  accountId: AccountId,
  { limit, order, after }: PageRequest<GuardrailId>,
): Promise<readonly GuardrailTable[]> {
  return db
    .selectFrom('guardrail')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(after !== undefined, (query) => query.where('id', order === 'asc' ? '>' : '<', after as GuardrailId))
    .orderBy('id', order)
    .limit(limit)
    .execute()
}

/** Throws 404 when it is unknown or another account's. */
export async function requireGuardrail(
  db: Kysely<Database>,
  { accountId, id }: GuardrailReference,
): Promise<GuardrailTable> {
  const row = await db
    .selectFrom('guardrail')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) throw notFound('guardrail')
  return row
}

export async function countGuardrails(db: Kysely<Database>, accountId: AccountId): Promise<number> {
  const { count } = await db
    .selectFrom('guardrail')
    .select((all) => all.fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Raises the version of the account's guardrails, in the transaction of their change. @param now Unix milliseconds. */
export async function raiseVersion(db: Kysely<Database>, accountId: AccountId, now: number): Promise<void> {
  await db
    .updateTable('account')
    .set({ guardrails: sql<number>`coalesce(guardrails, 0) + 1`, changed_at: nextChangedAt('account', now) })
    .where('id', '=', accountId)
    .execute()
}
