/**
 * Agents and runs in the database. Every query begins with the account. A run has the rights and the budget of its creator,
 * which is stored here and looked up again before each call of a model.
 */
import { type Kysely, type Selectable, type SelectQueryBuilder, sql, type Transaction } from 'kysely'
import { acquireAdvisoryLock } from '../../db/dialect.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { AgentStatus } from '../../domain/agent.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, AgentId, KeyId, RunId, UserId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'

export interface AgentReference {
  readonly accountId: AccountId
  readonly agentId: AgentId
}

export interface RunReference extends AgentReference {
  readonly runId: RunId
}

/** With what all its runs have used, and what people call whoever asked for the last one; null: they are gone. */
export interface Agent extends Selectable<Database['agent']> {
  readonly tokens: number
  readonly cost_nano_usd: NanoUsd
  readonly creator_name: string | null
}
export type Run = Selectable<Database['run']>

export interface ListPage<Position> {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** The last one of the page before. */
  readonly after: Position | undefined
}

export interface AgentFilter {
  readonly status: AgentStatus | undefined
  readonly repository: string | undefined
}

/** All that decides by what it reads of an agent follows one another, so that no change of it is lost. Comes first. */
export function lockAgent(inside: Transaction<Database>, { agentId }: AgentReference): Promise<void> {
  return acquireAdvisoryLock(inside, `agent ${agentId}`)
}

/** By creation; ids sort by time. */
export async function listAgents(
  db: Kysely<Database>,
  { accountId, status, repository }: AgentFilter & { readonly accountId: AccountId },
  { limit, order, after }: ListPage<AgentId>,
): Promise<readonly Agent[]> {
  return db
    .selectFrom('agent')
    .$call(withDetails)
    .where('account_id', '=', accountId)
    .$if(status !== undefined, (query) => query.where('status', '=', status as AgentStatus))
    .$if(repository !== undefined, (query) => query.where('repository', '=', repository as string))
    .$if(after !== undefined, (query) => query.where('id', order === 'asc' ? '>' : '<', after as AgentId))
    .orderBy('id', order)
    .limit(limit)
    .execute()
}

/** Undefined when it is unknown or another account's. */
export async function findAgent(
  db: Kysely<Database>,
  { accountId, agentId }: AgentReference,
): Promise<Agent | undefined> {
  const query = db.selectFrom('agent').$call(withDetails).where('account_id', '=', accountId).where('id', '=', agentId)
  return query.executeTakeFirst()
}

/** How many of an account wait or run, counted up to `atMost`. */
export async function countOpenAgents(db: Kysely<Database>, accountId: AccountId, atMost: number): Promise<number> {
  const open = db
    .selectFrom('agent')
    .select('id')
    .where('account_id', '=', accountId)
    .where('status', 'in', ['queued', 'running'])
    .limit(atMost)
  const { count } = await db
    .selectFrom(open.as('open'))
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function findRun(
  db: Kysely<Database>,
  { accountId, agentId, runId }: RunReference,
): Promise<Run | undefined> {
  return db
    .selectFrom('run')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .where('id', '=', runId)
    .executeTakeFirst()
}

/** The one whose status is the agent's. */
export async function lastRunOf(db: Kysely<Database>, { account_id, id, runs }: Agent): Promise<Run> {
  return db
    .selectFrom('run')
    .selectAll()
    .where('account_id', '=', account_id)
    .where('agent_id', '=', id)
    .where('number', '=', runs)
    .executeTakeFirstOrThrow()
}

export async function listRuns(
  db: Kysely<Database>,
  { accountId, agentId }: AgentReference,
  { limit, order, after }: ListPage<number>,
): Promise<readonly Run[]> {
  return db
    .selectFrom('run')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .$if(after !== undefined, (query) => query.where('number', order === 'asc' ? '>' : '<', after as number))
    .orderBy('number', order)
    .limit(limit)
    .execute()
}

/** What was not started, all accounts' together: for work in the background. `before` is Unix milliseconds. */
export async function listOverdueRuns(
  db: Kysely<Database>,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<readonly Run[]> {
  return db
    .selectFrom('run')
    .selectAll()
    .where('status', '=', sql.lit<AgentStatus>('queued')) // a literal: the index is of open runs alone
    .where('created_at', '<', before)
    .orderBy('created_at')
    .limit(limit)
    .execute()
}

function withDetails<Row>(query: SelectQueryBuilder<Database, 'agent', Row>) {
  const ofRuns = sql`from run where run.account_id = agent.account_id and run.agent_id = agent.id`
  // an id is a key's, a person's or a device's, so at most one of them is found
  const keyName = sql`select name from api_key where account_id = agent.account_id and id = agent.key_id`
  const email = sql`select email from person where id = agent.key_id`
  const deviceName = sql`select d.client_id || ' of ' || p.email from device d join person p on p.id = d.user_id
    where d.account_id = agent.account_id and d.id = agent.key_id`
  return query
    .selectAll()
    .select(sql<number>`(select coalesce(sum(prompt_tokens + completion_tokens), 0) ${ofRuns})`.as('tokens'))
    .select(sql<NanoUsd>`(select coalesce(sum(cost_nano_usd), 0) ${ofRuns})`.as('cost_nano_usd'))
    .select(sql<string | null>`coalesce((${keyName}), (${email}), (${deviceName}))`.as('creator_name'))
}

export interface Creator {
  readonly kind: Caller['kind']
  /** The key; the device's id of a token; the user's id of a session. */
  readonly keyId: KeyId
  /** Who is behind a token or a session. */
  readonly userId: UserId | undefined
  /** Where the request came from: what a key's allowlist is held against. */
  readonly address: string
}

export function creatorOf({ kind, keyId, userId }: Caller, address: string): Creator {
  return { kind, keyId, userId, address }
}

/** As the agent's row has it. */
export function creatorColumns(creator: Creator): { readonly key_id: KeyId; readonly creator: string } {
  return { key_id: creator.keyId, creator: JSON.stringify(creator) }
}

export function readCreator({ creator }: { readonly creator: string }): Creator {
  const { userId, ...others } = JSON.parse(creator) as Creator // as `creatorColumns` wrote it
  return { userId, ...others }
}
