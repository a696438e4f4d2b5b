/** What any process changes about devices, and about the members, people and accounts that they hang on. */
import { type Kysely, sql } from 'kysely'
import { type ChangeFollower, createFollower } from '../../db/follower.ts'
import type { Database } from '../../db/schema.ts'
import type { AccountId, DeviceId, UserId } from '../../domain/ids.ts'

export interface TokenChanges {
  readonly devices: ReadonlySet<DeviceId>
  /** Members of any account, and people. */
  readonly users: ReadonlySet<UserId>
  readonly accounts: ReadonlySet<AccountId>
  /** Devices whose tokens are good no longer: revoked, or of somebody who left or was disabled. */
  readonly ended: ReadonlySet<DeviceId>
}

const TABLES = ['device', 'member', 'person', 'account'] as const
type Cursor = Readonly<Record<(typeof TABLES)[number], number>>

/** @param apply Called, without awaiting, with every set of changes that is not empty. */
export function followTokenChanges(db: Kysely<Database>, apply: (changes: TokenChanges) => void): ChangeFollower {
  return createFollower<Cursor>({
    latest: () => latestChanges(db),
    async applySince(from) {
      const { rows, changes } = await changesSince(db, from)
      if (rows.length > 0) apply(changes)
      return Object.fromEntries(TABLES.map((table) => [table, latestOf(rows, table, from[table])])) as typeof from // the same keys
    },
  })
}

async function latestChanges(db: Kysely<Database>): Promise<Cursor> {
  const latest = async (table: (typeof TABLES)[number]) => {
    const query = db.selectFrom(table).select(({ fn }) => fn.max('changed_at').as('latest'))
    return (await query.executeTakeFirst())?.latest ?? 0
  }
  const [device, member, person, account] = await Promise.all([
    latest('device'),
    latest('member'),
    latest('person'),
    latest('account'),
  ])
  return { device, member, person, account }
}

interface ChangedRow {
  readonly table: string
  readonly id: string
  readonly changed_at: number
  /** When it ceased to be good; null: it is good. */
  readonly ended_at: number | null
}

async function changesSince(db: Kysely<Database>, from: Cursor) {
  const rows = await changedRows(db, from)
  const idsOf = (table: string) => rows.filter((row) => row.table === table).map(({ id }) => id)
  const isEnded = ({ table, ended_at }: ChangedRow) => table !== 'account' && ended_at !== null
  const ended = rows.filter(isEnded)
  const people = ended.filter(({ table }) => table !== 'device').map(({ id }) => id as UserId) // the column's type
  const devices = ended.filter(({ table }) => table === 'device').map(({ id }) => id as DeviceId)
  const changes: TokenChanges = {
    devices: new Set(idsOf('device') as DeviceId[]),
    users: new Set([...idsOf('member'), ...idsOf('person')] as UserId[]),
    accounts: new Set(idsOf('account') as AccountId[]),
    ended: new Set([...devices, ...(people.length === 0 ? [] : await devicesWithoutPerson(db, people))]),
  }
  return { rows, changes }
}

/** One statement for all, since it is asked after every change of anything. */
function changedRows(db: Kysely<Database>, from: Cursor): Promise<readonly ChangedRow[]> {
  return db
    .selectFrom('device')
    .select([named('device'), idIn('id'), 'changed_at', 'revoked_at as ended_at'])
    .where('changed_at', '>', from.device)
    .unionAll(
      db
        .selectFrom('member')
        .select([named('member'), idIn('user_id'), 'changed_at', 'removed_at as ended_at'])
        .where('changed_at', '>', from.member),
    )
    .unionAll(
      db
        .selectFrom('person')
        .select([named('person'), idIn('id'), 'changed_at', 'disabled_at as ended_at'])
        .where('changed_at', '>', from.person),
    )
    .unionAll(
      db
        .selectFrom('account')
        .select([named('account'), idIn('id'), 'changed_at', sql<number | null>`null`.as('ended_at')])
        .where('changed_at', '>', from.account),
    )
    .execute()
}

function named(table: (typeof TABLES)[number]) {
  return sql<string>`${sql.lit(table)}`.as('table')
}

function idIn(column: string) {
  return sql<string>`${sql.ref(column)}`.as('id')
}

async function devicesWithoutPerson(db: Kysely<Database>, people: readonly UserId[]): Promise<readonly DeviceId[]> {
  const rows = await db
    .selectFrom('device')
    .innerJoin('person', 'person.id', 'device.user_id')
    .leftJoin('member', (join) =>
      join.onRef('member.account_id', '=', 'device.account_id').onRef('member.user_id', '=', 'device.user_id'),
    )
    .where('device.user_id', 'in', people)
    .where('device.revoked_at', 'is', null)
    .where((is) => is.or([is('member.removed_at', 'is not', null), is('person.disabled_at', 'is not', null)]))
    .select('device.id')
    .execute()
  return rows.map(({ id }) => id)
}

function latestOf(rows: readonly ChangedRow[], table: string, least: number): number {
  return rows.reduce((latest, row) => (row.table === table ? Math.max(latest, row.changed_at) : latest), least)
}
