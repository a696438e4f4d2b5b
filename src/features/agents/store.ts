/**
 * Agents and runs in the database. Every query begins with the account. A run has the rights and the budget of its creator,
 * which is stored here and looked up again before each call of a model.
 */

import type { FastifyRequest } from 'fastify'
import { type Kysely, type Selectable, type SelectQueryBuilder, sql, type Transaction, type UpdateObject } from 'kysely'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import { countRows, given, pageBy } from '../../db/shared-queries.ts'
import type { AgentStatus } from '../../domain/agent.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, AgentId, KeyId, RunId, TeamId, UserId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { PageRequest } from '../../http/page.ts'
import type { FeatureDeps } from '../deps.ts'

export interface AgentReference {
  readonly accountId: AccountId
  readonly agentId: AgentId
}

export interface RunReference extends AgentReference {
  readonly runId: RunId
}

/** With the usage of all its runs, and the name of the last run's creator; null: it was deleted. */
export interface Agent extends Selectable<Database['agent']> {
  readonly tokens: number
  readonly cost_nano_usd: NanoUsd
  /** 1: a run has pushed its branch. */
  readonly pushed: number
  readonly creator_name: string | null
}
export type Run = Selectable<Database['run']>

export interface AgentFilter {
  readonly status: AgentStatus | undefined
  readonly repository: string | undefined
  /** Undefined: of all teams and of none. */
  readonly teamId?: TeamId | undefined
}

/** Serializes the transactions that change an agent by what they read of it. Must be called first. */
export function lockAgent(inside: Transaction<Database>, { agentId }: AgentReference): Promise<void> {
  return acquireAdvisoryLock(inside, `agent ${agentId}`)
}

/** By creation; ids sort by time. */
export async function listAgents(
  db: Kysely<Database>,
  { accountId, status, repository, teamId }: AgentFilter & { readonly accountId: AccountId },
  page: PageRequest<AgentId>,
): Promise<readonly Agent[]> {
  return db
    .selectFrom('agent')
    .$call(withDetails)
    .where('account_id', '=', accountId)
    .where(({ and }) => and(given({ status, repository, team_id: teamId })))
    .$call(pageBy('id', page))
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

/** As `findAgent`, but throws 404. */
export async function requireAgent(db: Kysely<Database>, reference: AgentReference): Promise<Agent> {
  const agent = await findAgent(db, reference)
  if (agent === undefined) throw unknownAgent()
  return agent
}

/** The same for another account's agent and for one that does not exist. */
export function unknownAgent(): GatewayError {
  return new GatewayError('not_found', 'No agent has this ID.')
}

/** Queued and running agents of an account, counted up to `atMost`. */
export async function countOpenAgents(db: Kysely<Database>, accountId: AccountId, atMost: number): Promise<number> {
  const open = db
    .selectFrom('agent')
    .select('id')
    .where('account_id', '=', accountId)
    .where('status', 'in', ['queued', 'running'])
    .limit(atMost)
  return countRows(db.selectFrom(open.as('open')))
}

export async function findRun(
  db: Kysely<Database>,
  { accountId, agentId, runId }: RunReference,
): Promise<Run | undefined> {
  return runsOf(db, { accountId, agentId }).where('id', '=', runId).executeTakeFirst()
}

function runsOf(db: Kysely<Database>, { accountId, agentId }: AgentReference) {
  return db.selectFrom('run').selectAll().where('account_id', '=', accountId).where('agent_id', '=', agentId)
}

/** Sets columns of a run; the caller may add conditions before it executes the query. */
export function updateRun(
  db: Kysely<Database>,
  { accountId, agentId, runId }: RunReference,
  changes: UpdateObject<Database, 'run'>,
) {
  return db
    .updateTable('run')
    .set(changes)
    .where(({ and }) => and({ account_id: accountId, agent_id: agentId, id: runId }))
}

export function runReference({ account_id: accountId, agent_id: agentId, id: runId }: Run): RunReference {
  return { accountId, agentId, runId }
}

/** The run whose status is the agent's. */
export async function lastRunOf(db: Kysely<Database>, { account_id, id, runs }: Agent): Promise<Run> {
  const reference = { accountId: account_id, agentId: id }
  return runsOf(db, reference).where('number', '=', runs).executeTakeFirstOrThrow()
}

export async function listRuns(
  db: Kysely<Database>,
  reference: AgentReference,
  page: PageRequest,
): Promise<readonly Run[]> {
  return runsOf(db, reference).$call(pageBy('number', page)).execute()
}

/** Queued runs of all accounts that were created before a time (Unix milliseconds). */
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
  // the ID is of a key, a person or a device, so at most one of them is found
  const keyName = sql`select name from api_key where account_id = agent.account_id and id = agent.key_id`
  const email = sql`select email from person where id = agent.key_id`
  const deviceName = sql`select d.client_id || ' of ' || p.email from device d join person p on p.id = d.user_id
    where d.account_id = agent.account_id and d.id = agent.key_id`
  return query
    .selectAll()
    .select(sql<number>`(select coalesce(sum(prompt_tokens + completion_tokens), 0) ${ofRuns})`.as('tokens'))
    .select(sql<NanoUsd>`(select coalesce(sum(cost_nano_usd), 0) ${ofRuns})`.as('cost_nano_usd'))
    .select(sql<number>`(select coalesce(max(pushed), 0) ${ofRuns})`.as('pushed'))
    .select(sql<string | null>`coalesce((${keyName}), (${email}), (${deviceName}))`.as('creator_name'))
}

export interface Creator {
  readonly kind: Caller['kind']
  /** ID of the key; of a token, of its device; of a session, of its user. */
  readonly keyId: KeyId
  /** The user of a token or a session. */
  readonly userId: UserId | undefined
  /** IP address of the request: compared with a key's allowlist. */
  readonly address: string
  /** Team that it runs in; absent: the account. */
  readonly teamId?: TeamId | undefined
}

export function creatorOf({ kind, keyId, userId, teamId }: Caller, address: string): Creator {
  return { kind, keyId, userId, address, ...(teamId !== undefined && { teamId }) }
}

/** Columns of the agent's row. */
export function creatorColumns(creator: Creator): { readonly key_id: KeyId; readonly creator: string } {
  return { key_id: creator.keyId, creator: JSON.stringify(creator) }
}

export function readCreator({ creator }: { readonly creator: string }): Creator {
  return JSON.parse(creator) as Creator // as `creatorColumns` wrote it
}

/* What a key of a team sees of agents: those of its team. */

/** Rejects with 404 for an agent of another team, or of none, as for one that does not exist. */
export function requireOwnTeam({ db, callerOf }: Pick<FeatureDeps, 'db' | 'callerOf'>) {
  return async (request: FastifyRequest): Promise<void> => {
    const { accountId, teamId } = callerOf(request)
    const { id: agentId } = request.params as { readonly id?: AgentId } // as the schemas of the routes say
    if (teamId === undefined || agentId === undefined) return
    const agent = await findAgent(db, { accountId, agentId })
    if (agent?.team_id !== teamId) throw unknownAgent()
  }
}
