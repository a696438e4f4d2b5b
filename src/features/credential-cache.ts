/**
 * Cache of credentials, by the hash or id that they are looked up with. An entry is valid until a row that it was computed
 * from changes, in this or another process. Reading it is on the hot path and costs one map lookup.
 */
import { type Kysely, sql } from 'kysely'
import { type ChangeFollower, createChangeFollower } from '../db/changed-at.ts'
import { type BatchStatement, readRows } from '../db/database.ts'
import type { Database } from '../db/schema/schema.ts'
import type { Caller } from '../domain/identity/caller.ts'
import type { AccountId, DeviceId, KeyId } from '../domain/ids.ts'
import { createLruCache } from '../lib/collections.ts'

/** Identifiers without a credential that the negative cache holds, so that repeating one costs no query. */
export const MAX_NEGATIVE_ENTRIES = 10_000
const NEGATIVE_LIFE_MS = 5_000

/** Tables with rows that credentials depend on: how a row is identified, and since when it is not valid any more. */
const TABLES = {
  api_key: { id: sql`id`, endedAt: sql`coalesce(revoked_at, disabled_at)` },
  device: { id: sql`id`, endedAt: sql`revoked_at` },
  session: { id: sql`id`, endedAt: sql`ended_at` },
  member: { id: sql`account_id || ' ' || user_id`, endedAt: sql`removed_at` },
  person: { id: sql`id`, endedAt: sql`disabled_at` },
  team: { id: sql`id`, endedAt: sql`archived_at` },
  account: { id: sql`id`, endedAt: sql`null` },
} as const
type Table = keyof typeof TABLES

/** Ids of rows by table. */
export type RowIds = Readonly<Record<Table, ReadonlySet<string>>>

/** Ids of rows that are not valid any more. */
export interface EndedIds extends RowIds {
  /** Those of `api_key` that are disabled: the keys that they created are refused as well, unlike those of revoked keys. */
  readonly disabledKeys: ReadonlySet<string>
}

export interface CredentialCacheInput<Credential> {
  readonly db: Kysely<Database>
  /** Calls back when another process may have changed rows; returns what unsubscribes. */
  readonly onChange: (listener: () => void) => () => void
  /** Unix milliseconds. */
  readonly now: () => number
  /** Tables that are followed, `account` last. */
  readonly tables: readonly Table[]
  readonly capacity: number
  /** Entries of the negative cache; 0: there is none. */
  readonly negativeCapacity: number
  /** Reads a credential; undefined when there is none that is valid. */
  readonly load: (id: string) => Promise<Credential | undefined>
  /** Whether a credential was computed from one of `rows`. */
  readonly dependsOn: (credential: Credential, rows: RowIds) => boolean
  /** Whether a caller's credential ends because `rows` are not valid any more. */
  readonly isEndedBy: (caller: Caller, rows: EndedIds) => boolean
  /** Called when credentials may have ended, here or in another process. */
  readonly onEnded: (isEnded: (caller: Caller) => boolean) => void
}

/** What an authenticator passes on to its cache. */
export type CacheSource = Pick<CredentialCacheInput<unknown>, 'db' | 'onChange' | 'now'> &
  Partial<Pick<CredentialCacheInput<unknown>, 'capacity' | 'negativeCapacity' | 'onEnded'>>

export interface CredentialCache<Credential> extends Pick<ChangeFollower, 'refresh'> {
  /** Undefined when it is not cached. */
  get(id: string): Credential | undefined
  /** Whether the negative cache has `id`. */
  isMissing(id: string): boolean
  /** Reads a credential from the database: one query for concurrent calls. Rejects with `database_unavailable`. */
  load(id: string): Promise<Credential | undefined>
  close(): void
}

export function createCredentialCache<Credential>(
  input: CredentialCacheInput<Credential>,
): CredentialCache<Credential> {
  const { now, negativeCapacity } = input
  const entries = createLruCache<Credential>(input.capacity)
  const missingUntil = negativeCapacity === 0 ? undefined : createLruCache<number>(negativeCapacity)
  const loading = new Map<string, Promise<Credential | undefined>>()
  let generation = 0

  const follower = followRows(input, (changed, ended) => {
    generation++
    missingUntil?.clear()
    for (const [id, credential] of entries.entries()) if (input.dependsOn(credential, changed)) entries.delete(id)
    if (ended !== undefined) input.onEnded((caller) => input.isEndedBy(caller, ended))
  })
  const loadNow = async (id: string) => {
    await follower.ready()
    const startedIn = generation
    const credential = await input.load(id)
    if (startedIn !== generation) return credential // read before a change that may concern it: not cached
    if (credential !== undefined) entries.set(id, credential)
    else {
      entries.delete(id)
      missingUntil?.set(id, now() + NEGATIVE_LIFE_MS)
    }
    return credential
  }
  const unsubscribe = input.onChange(() => void follower.refresh())
  void follower.refresh()
  return {
    get: entries.get,
    isMissing: (id) => (missingUntil?.get(id) ?? 0) > now(),
    load(id) {
      const running = loading.get(id)
      if (running !== undefined) return running
      const promise = loadNow(id).finally(() => loading.delete(id))
      loading.set(id, promise)
      return promise
    },
    refresh: follower.refresh,
    close() {
      unsubscribe()
      follower.close()
    },
  }
}

/** Whether the member, the person or the account of a caller is among `rows`. */
export function includesOwner({ account, person, member }: RowIds, { accountId, userId }: Caller): boolean {
  if (account.has(accountId)) return true
  if (userId === undefined) return false
  return person.has(userId) || (member.size > 0 && member.has(`${accountId} ${userId}`))
}

type Cursor = Readonly<Partial<Record<Table, number>>>

interface ChangedRow {
  readonly table: Table
  readonly id: string
  readonly endedAt: number | null
  /** Of a key; null: it is enabled. */
  readonly disabledAt: number | null
  readonly changedAt: number
}

/** @param apply Called with every set of changes that is not empty. `ended` is undefined where all rows are valid. */
function followRows(
  { db, tables }: Pick<CredentialCacheInput<unknown>, 'db' | 'tables'>,
  apply: (changed: RowIds, ended: EndedIds | undefined) => void,
): ChangeFollower {
  return createChangeFollower<Cursor>({
    latest: () => latestChanges(db, tables),
    async applySince(cursor) {
      const rows = await changedRows(db, tables, cursor)
      const ended = rows.filter(({ endedAt }) => endedAt !== null)
      if (rows.length > 0) apply(idsOf(rows), ended.length === 0 ? undefined : endedIds(ended))
      const next: Partial<Record<Table, number>> = { ...cursor }
      for (const { table, changedAt } of rows) next[table] = Math.max(next[table] ?? 0, changedAt)
      return next
    },
  })
}

async function latestChanges(db: Kysely<Database>, tables: readonly Table[]): Promise<Cursor> {
  const columns = tables.map(
    (table) => sql`(select coalesce(max(changed_at), 0) from ${sql.table(table)}) as ${sql.ref(table)}`,
  )
  const [row] = await readRows(db, sql<Cursor>`select ${sql.join(columns)}`)
  return row ?? {}
}

/** One query for all tables, since it follows every write. */
function changedRows(db: Kysely<Database>, tables: readonly Table[], cursor: Cursor): Promise<readonly ChangedRow[]> {
  const selects = tables.map((table) => {
    const { id, endedAt } = TABLES[table]
    const disabledAt = table === 'api_key' ? sql`disabled_at` : sql`cast(null as bigint)`
    const times = sql`${endedAt} as "endedAt", ${disabledAt} as "disabledAt", changed_at as "changedAt"`
    return sql`select ${sql.lit(table)} as "table", ${id} as "id", ${times} from ${sql.table(table)} where changed_at > ${cursor[table] ?? 0}`
  })
  return readRows(db, sql<ChangedRow>`${sql.join(selects, sql` union all `)}`)
}

function endedIds(rows: readonly ChangedRow[]): EndedIds {
  const disabled = rows.filter(({ disabledAt }) => disabledAt !== null)
  return { ...idsOf(rows), disabledKeys: new Set(disabled.map(({ id }) => id)) }
}

function idsOf(rows: readonly ChangedRow[]): RowIds {
  const ids: Record<Table, Set<string>> = {
    api_key: new Set(),
    device: new Set(),
    session: new Set(),
    member: new Set(),
    person: new Set(),
    team: new Set(),
    account: new Set(),
  }
  for (const { table, id } of rows) ids[table].add(id)
  return ids
}

// Last-used timestamps of credentials, collected in memory and written in batches.

const WRITE_INTERVAL_MS = 10_000
const BATCH_SIZE = 1_000
/** Credentials with an unwritten use; uses of others are dropped until the next write. */
export const MAX_UNWRITTEN_USES = 100_000

export interface Used {
  /** Unix milliseconds of the last unwritten use; undefined: none. */
  unwrittenUseAt: number | undefined
}

export interface LastUsed<Item extends Used> {
  /** @param now Unix milliseconds. */
  note(item: Item, now: number): void
  /** Rejects when the database does; the next write retries. */
  write(): Promise<void>
  /** Writes the rest. */
  close(): Promise<void>
}

export interface LastUsedInput<Item> {
  readonly db: Kysely<Database>
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
  readonly table: 'api_key' | 'device'
  /** The key of the row to update. */
  readonly rowOf: (item: Item) => readonly [account: AccountId, id: KeyId | DeviceId]
}

export function createLastUsed<Item extends Used>({ db, batch, table, rowOf }: LastUsedInput<Item>): LastUsed<Item> {
  const { sql } = updateOf(db, table)
  const unwritten: Item[] = []
  const note = (item: Item, now: number) => {
    const isNew = item.unwrittenUseAt === undefined
    if (isNew && unwritten.length >= MAX_UNWRITTEN_USES) return
    item.unwrittenUseAt = Math.max(now, item.unwrittenUseAt ?? 0)
    if (isNew) unwritten.push(item)
  }
  const write = async () => {
    while (unwritten.length > 0) {
      const uses = unwritten.splice(0, BATCH_SIZE).map(takeUse)
      try {
        await batch(uses.map(({ item, at }) => ({ sql, parameters: [at, ...rowOf(item), at] })))
      } catch (error) {
        for (const { item, at } of uses) note(item, at)
        throw error
      }
    }
  }
  const timer = setInterval(() => void write().catch(() => undefined), WRITE_INTERVAL_MS).unref()
  return {
    note,
    write,
    async close() {
      clearInterval(timer)
      await write()
    },
  }
}

function takeUse<Item extends Used>(item: Item) {
  const at = item.unwrittenUseAt ?? 0
  item.unwrittenUseAt = undefined
  return { item, at }
}

/** The latest time wins, in whatever order processes write. Parameters: time, account, id, time. */
function updateOf(db: Kysely<Database>, table: 'api_key' | 'device'): BatchStatement {
  return db
    .updateTable(table)
    .set({ last_used_at: 0 })
    .where(({ and }) => and({ account_id: '' as AccountId, id: '' as KeyId & DeviceId }))
    .where((is) => is.or([is('last_used_at', 'is', null), is('last_used_at', '<', 0)]))
    .compile()
}
