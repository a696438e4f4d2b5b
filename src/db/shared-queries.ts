/**
 * Queries that several features share, and parts of queries: optional filters, ranges, pages of sorted rows, counts,
 * IDs that must exist, the teams of a person, the first account.
 */
import { type Kysely, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { GatewayError } from '../domain/errors.ts'
import type { TeamRole } from '../domain/identity/caller.ts'
import type { AccountId, TeamId, UserId } from '../domain/ids.ts'
import type { Database } from './schema/schema.ts'

/** Returns the values that are not undefined, for `and`: columns of absent filters may have any value. */
export function given<Values extends object>(values: Values) {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Column in keyof Values]?: Exclude<Values[Column], undefined> }
}

/** Returns the condition that a column is within a range. @param range `end` is exclusive. */
export function within(column: string, { start, end }: { readonly start: number; readonly end: number }) {
  return sql<SqlBool>`${sql.ref(column)} >= ${start} and ${sql.ref(column)} < ${end}`
}

export interface PageOf {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** Value of the last row of the previous page; undefined: from the start. */
  readonly after?: string | number | undefined
}

/** Sorts a query by a column that is unique in its rows, and restricts it to a page; for `$call`. */
export function pageBy(column: string, { limit, order, after }: PageOf) {
  return <DB, TB extends keyof DB, Row>(query: SelectQueryBuilder<DB, TB, Row>) => {
    const sorted = query.orderBy(sql.ref(column), order).limit(limit)
    return after === undefined ? sorted : sorted.where(sql.ref(column), order === 'asc' ? '>' : '<', after)
  }
}

/** Counts the rows of a query. */
export async function countRows<DB, TB extends keyof DB>(query: SelectQueryBuilder<DB, TB, object>): Promise<number> {
  const counting = query.select(sql<number>`count(*)`.as('count')).$castTo<{ readonly count: number }>()
  return Number((await counting.executeTakeFirstOrThrow()).count)
}

type Ids = readonly string[] | null | undefined

interface References {
  readonly teams?: Ids
  readonly keys?: Ids
}

/** Rejects with 404 for an ID that is not the account's. */
export async function assertKnown(
  db: Kysely<Database>,
  accountId: AccountId,
  { teams, keys }: References,
): Promise<void> {
  await assertIds(db, accountId, { table: 'team', ids: teams, param: 'teams' })
  await assertIds(db, accountId, { table: 'api_key', ids: keys, param: 'keys' })
}

interface WantedIds {
  readonly table: 'team' | 'api_key'
  readonly ids: Ids
  readonly param: string
}

async function assertIds(db: Kysely<Database>, accountId: AccountId, { table, ids, param }: WantedIds): Promise<void> {
  const wanted = [...new Set(ids ?? [])]
  if (wanted.length === 0) return
  const rows = await db
    .selectFrom(table)
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', 'in', wanted as never[])
    .execute()
  const known = new Set<string>(rows.map(({ id }) => id))
  const unknown = wanted.find((id) => !known.has(id))
  if (unknown !== undefined) throw new GatewayError('not_found', `Nothing has the id '${unknown}'.`, { param })
}

/** Undefined: none. Archived teams are not among them. */
export async function teamRolesOf(
  db: Kysely<Database>,
  { accountId, userId }: { readonly accountId: AccountId; readonly userId: UserId },
): Promise<ReadonlyMap<TeamId, TeamRole> | undefined> {
  const rows = await db
    .selectFrom('team_member')
    .innerJoin('team', (join) =>
      join.onRef('team.account_id', '=', 'team_member.account_id').onRef('team.id', '=', 'team_member.team_id'),
    )
    .select(['team_member.team_id', 'team_member.role'])
    .where(({ and }) => and({ 'team_member.account_id': accountId, 'team_member.user_id': userId }))
    .where('team.archived_at', 'is', null)
    .execute()
  return rows.length === 0 ? undefined : new Map(rows.map(({ team_id, role }) => [team_id, role]))
}

/** @returns Undefined: the installation has none yet. */
export async function findFirstAccount(db: Kysely<Database>): Promise<AccountId | undefined> {
  const row = await db.selectFrom('setting').select('value').where('key', '=', 'first_account').executeTakeFirst()
  return row?.value as AccountId | undefined // as the key says
}
