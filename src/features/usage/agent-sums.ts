/** What agents used: sums of whole days, and the completions of the rest through the index of agents. */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { CUSTOM_PLAN, dialectOf, readRows } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import { given, within } from '../../db/shared-queries.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { Period } from '../../http/period.ts'
import { agentOfRequest, completionParts, NO_KEY, NOTHING, unionOf } from './dimension-parts.ts'
import { firstAgentAfter, idsBornIn } from './period.ts'
import { type CountColumns, type Counts, MARGIN, type SumChoice, toCounts } from './queries.ts'

export interface AgentSum extends Counts {
  readonly agentId: string
}

/** Clients' own names for their requests can look like an agent's, but never like a run's. */
export async function sumAgents(
  db: Kysely<Database>,
  accountId: AccountId,
  { period, filter }: Pick<SumChoice, 'period' | 'filter'>,
): Promise<readonly AgentSum[]> {
  const all = { ...filter, provider: undefined, clientRequestId: undefined }
  const calls = (part: Period, condition: RawBuilder<boolean>) =>
    sql`${callParts(db, accountId, { period: part, filter }).where(condition)}`
  const { summed, unsummed } = await completionParts(
    db,
    accountId,
    { period, dimensions: ['agent'], filter: all },
    calls,
  )
  const parts = unionOf([...(summed === undefined ? [] : [summed.select()]), ...unsummed])
  // Of an hour another index serves than of a year.
  const rows = await readRows<CountColumns & { readonly agent_id: string }>(
    db,
    sql`select ${sql.raw(CUSTOM_PLAN)} d0 as agent_id, sum(requests) as requests, sum(prompt_tokens) as prompt_tokens,
        sum(completion_tokens) as completion_tokens, sum(cost_nano_usd) as cost_nano_usd,
        sum(margin_nano_usd) as margin_nano_usd
      from (${parts}) as part where d0 is not null group by d0 having sum(requests) <> 0`,
  )
  return rows.map(({ agent_id: agentId, ...counts }) => ({ agentId, ...toCounts(counts) }))
}

function callParts(
  db: Kysely<Database>,
  accountId: AccountId,
  { period, filter }: Pick<SumChoice, 'period' | 'filter'>,
) {
  return db
    .selectFrom(agentCalls(db, accountId, period).as('one'))
    .select(['model', NO_KEY.as('key_id'), agentOfRequest(db).as('d0'), NOTHING.as('d1'), NOTHING.as('d2')])
    .select([sql<number>`1`.as('requests'), 'prompt_tokens', 'completion_tokens', 'cost_nano_usd'])
    .select(MARGIN.as('margin_nano_usd'))
    .where(within('created_at', period))
    .where(({ and }) => and(given({ model: filter.model, key_id: filter.keyId })))
}

const CALL_COLUMNS = [
  'created_at',
  'model',
  'key_id',
  'prompt_tokens',
  'completion_tokens',
  'cost_nano_usd',
  'provider_cost_nano_usd',
] as const

/**
 * All of the period, and maybe some of the minute before and after. SQLite would read the rows of all agents' calls, whatever
 * the bounds on the id: it gets the ids from the index alone, and then their rows, in the order that a cross join says.
 */
function agentCalls(db: Kysely<Database>, accountId: AccountId, period: Period) {
  const { above, below } = idsBornIn(period)
  const calls = db
    .selectFrom('completion as call')
    .select('call.client_request_id')
    .where('call.account_id', '=', accountId)
    .where('call.client_request_id', '<', firstAgentAfter(period))
    .where('call.client_request_id', '>=', sql.lit('agt_')) // literals: the condition of the index
    .where('call.client_request_id', '<', sql.lit('agt`'))
    .where('call.id', '>', above)
    .where('call.id', '<', below)
  if (dialectOf(db) === 'postgres') return calls.select(CALL_COLUMNS)
  return calls
    .crossJoin('completion as whole')
    .select(CALL_COLUMNS.map((column) => `whole.${column}` as const))
    .where('whole.account_id', '=', accountId)
    .whereRef('whole.id', '=', 'call.id')
}
