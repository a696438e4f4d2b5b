/** What a batch must know before its units are carried out, in one round trip; its accounts are locked from then on. */
import type { PostgresClient, PostgresRows } from '../../db/postgres/client.ts'
import type { HoldTable, KeySpendingTable } from '../../db/schema.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { type EntryPlace, firstDayOfMonth, type HoldPlace, type KeyPlace } from './carry-out.ts'
import { type ChargedRow, priorCharge } from './charged-row.ts'
import { ENTRY_OF_KEY, type EntryOfKeyRow, keyedEntryOf } from './keyed-entry.ts'
import { ACCOUNT_COLUMNS, type AccountRow, accountState } from './known-accounts.ts'
import { type Facts, nameOf, type OpenHold } from './postgres-store-memory.ts'
import { listsOf, type RowsStatement, rowsOf, send, text } from './postgres-store-rows.ts'
import type { AccountState, KeyState, PriorCharge } from './rules.ts'
import type { Unit } from './unit.ts'

/**
 * The time, and no scan of a whole table for what has an index: plans are kept, and what was planned while nothing was held
 * would read the whole of `hold`, with all that was deleted of it, for every batch of the next busy minute.
 */
const BEGIN = `select (extract(epoch from clock_timestamp()) * 1000)::bigint as now,
  set_config('enable_seqscan', 'off', true) as seqscan`

/**
 * In order of the ids, so that batches of two processes never wait for each other in a circle. Whoever changes anything
 * of an account's money does it under this lock.
 */
const LOCK_ACCOUNTS = `select account_id, ${ACCOUNT_COLUMNS}
from credit where account_id = any($1::text[]) order by account_id for no key update`

const HOLD_PLACES = [text<HoldPlace>('account_id', (hold) => hold.accountId), text<HoldPlace>('id', (hold) => hold.id)]
const KEY_PLACES = [text<KeyPlace>('account_id', (key) => key.accountId), text<KeyPlace>('key_id', (key) => key.keyId)]

/** Each with what is kept of its key. One by one, by its key: whatever the planner thinks of the size of the table. */
const READ_HOLDS: RowsStatement<HoldPlace> = {
  columns: HOLD_PLACES,
  sql: `select found.account_id, found.id, found.key_id, found.amount_nano_usd, found.of_key_budget,
  key_spending.month, key_spending.spent_nano_usd, key_spending.held_nano_usd
from ${rowsOf(HOLD_PLACES, 'asked')}
cross join lateral (select hold.* from hold
  where hold.account_id = asked.account_id and hold.id = asked.id limit 1) as found
left join key_spending on key_spending.account_id = found.account_id and key_spending.key_id = found.key_id`,
}

const READ_KEYS: RowsStatement<KeyPlace> = {
  columns: KEY_PLACES,
  sql: `select key_spending.account_id, key_spending.key_id, key_spending.month, spent_nano_usd, held_nano_usd
from ${rowsOf(KEY_PLACES, 'asked')}
join key_spending on key_spending.account_id = asked.account_id and key_spending.key_id = asked.key_id`,
}

/** With the last entry of its charge, where that is an estimate's. Entries are looked for from the newest on. */
const READ_CHARGED: RowsStatement<HoldPlace> = {
  columns: HOLD_PLACES,
  sql: `select completion.account_id, completion.id, completion.key_id, model, completion.created_at, prompt_tokens,
  completion_tokens, cost_nano_usd, unbilled_nano_usd, status, usage_source, entry.number, entry.created_at as entered_at
from ${rowsOf(HOLD_PLACES, 'asked')}
join completion on completion.account_id = asked.account_id and completion.id = asked.id
left join lateral (
  with recursive chain (number, created_at) as (
    (select number, created_at from ledger
      where completion.status = 'incomplete' and completion.usage_source = 'estimated' and completion.cost_nano_usd > 0
        and ledger.account_id = asked.account_id and ledger.completion_id = asked.id and kind = 'charge' and adjusts is null
      order by number desc limit 1)
    union all
    select ledger.number, chain.created_at from chain
      join ledger on ledger.account_id = asked.account_id and ledger.adjusts = chain.number
  )
  select number, created_at from chain order by number desc limit 1
) as entry on true`,
}

const ENTRY_PLACES = [
  text<EntryPlace>('account_id', (place) => place.accountId),
  text<EntryPlace>('key', (place) => place.key),
]

const READ_ENTRIES: RowsStatement<EntryPlace> = {
  columns: ENTRY_PLACES,
  sql: `${ENTRY_OF_KEY} where (asked.account_id, asked.key) in (select * from ${rowsOf(ENTRY_PLACES, 'given')})`,
}

const READ_KEY_COSTS = `select asked.account_id, asked.key_id, sum(cost_nano_usd)::bigint as cost_nano_usd
from ${rowsOf(KEY_PLACES, 'asked')}
join usage_rollup on usage_rollup.account_id = asked.account_id and usage_rollup.key_id = asked.key_id
where usage_rollup.day >= $3 group by asked.account_id, asked.key_id`

/** Whose rows the units will ask for. */
export interface Places {
  readonly accounts: Set<AccountId>
  readonly holds: HoldPlace[]
  /** Without those that come with a hold. */
  readonly keys: Map<string, KeyPlace>
  /** Keys whose costs are asked for where they have no row. */
  readonly budgeted: Map<string, KeyPlace>
  /** Of settlements: what of it has no hold may have been charged already. */
  readonly settlements: CompletionRecord[]
  /** Entries that are made under a key. */
  readonly entries: EntryPlace[]
}

export function placesOf(units: readonly Unit[]): Places {
  const places: Places = {
    accounts: new Set(),
    holds: [],
    keys: new Map(),
    budgeted: new Map(),
    settlements: [],
    entries: [],
  }
  let hasHolds = false
  let isMixed = false
  for (const unit of units) {
    addPlaces(places, unit)
    if (unit.kind === 'hold') hasHolds = true
    else isMixed ||= hasHolds
  }
  if (!isMixed) return places
  // Units may ask for the key of a hold that is made before them in the same batch.
  for (const unit of units) if (unit.kind === 'hold') addKey(places.keys, unit)
  return places
}

function addPlaces({ accounts, holds, keys, budgeted, settlements, entries }: Places, unit: Unit): void {
  if (unit.kind === 'estimates') return
  const place = unit.kind === 'settle' ? unit.record : unit
  accounts.add(place.accountId)
  if ('id' in place) holds.push(place)
  if (unit.kind === 'entry' && unit.once !== undefined) entries.push({ accountId: unit.accountId, key: unit.once.key })
  if (unit.kind === 'settle') settlements.push(unit.record)
  else if (unit.kind === 'hold' && unit.keyBudgetNanoUsd !== undefined) {
    addKey(keys, unit)
    addKey(budgeted, unit)
  } else if (unit.kind === 'entry' && unit.entry.adjusts?.keyId !== undefined) {
    addKey(keys, { accountId: unit.accountId, keyId: unit.entry.adjusts.keyId })
  }
}

function addKey(keys: Map<string, KeyPlace>, place: KeyPlace): void {
  keys.set(nameOf(place.accountId, place.keyId), place)
}

/** Locks the accounts, and reads. Every statement after the lock sees what its last holder has committed. */
export async function readFacts(client: PostgresClient, places: Places, now: number | undefined): Promise<Facts> {
  const { holds, keys, entries } = places
  const [begun, accountRows, holdRows, keyRows, entryRows] = await Promise.all([
    client.query<{ readonly now: number }>(BEGIN),
    lockAccounts(client, places),
    holds.length === 0 ? NO_ROWS : send<HoldPlace, HoldRow>(client, READ_HOLDS, holds),
    keys.size === 0 ? NO_ROWS : send<KeyPlace, KeySpendingTable>(client, READ_KEYS, [...keys.values()]),
    entries.length === 0 ? NO_ROWS : send<EntryPlace, EntryOfKeyRow>(client, READ_ENTRIES, entries),
  ])
  const at = now ?? begun.rows[0]?.now
  if (at === undefined) throw new Error('The database does not tell the time.')
  const facts = { ...openHolds(holdRows.rows), accounts: accountStates(accountRows.rows), now: at }
  for (const row of keyRows.rows) facts.keys.set(nameOf(row.account_id, row.key_id), keyState(row))
  const charged = await readCharged(client, places, facts)
  const keyCosts = await readKeyCosts(client, places, facts)
  const keyed = entryRows.rows.map((row) => [nameOf(row.account_id, row.key), keyedEntryOf(row)] as const)
  return { ...facts, keyCosts, charged, entries: new Map(keyed) }
}

interface LockedRow extends AccountRow {
  readonly account_id: AccountId
}

interface HoldRow extends Pick<HoldTable, 'account_id' | 'id' | 'key_id' | 'amount_nano_usd' | 'of_key_budget'> {
  readonly month: number | null
  readonly spent_nano_usd: NanoUsd
  readonly held_nano_usd: NanoUsd
}

const NO_ROWS: PostgresRows<never> = { rows: [], changes: 0 }

export function lockAccounts(client: PostgresClient, { accounts }: Places): Promise<PostgresRows<LockedRow>> {
  return client.query<LockedRow>(LOCK_ACCOUNTS, [[...accounts]])
}

function accountStates(rows: readonly LockedRow[]): Map<AccountId, AccountState> {
  const accounts = new Map<AccountId, AccountState>()
  for (const row of rows) accounts.set(row.account_id, accountState(row))
  return accounts
}

function openHolds(rows: readonly HoldRow[]): { holds: Map<string, OpenHold>; keys: Map<string, KeyState> } {
  const holds = new Map<string, OpenHold>()
  const keys = new Map<string, KeyState>()
  for (const row of rows) {
    const { account_id: accountId, id, key_id: keyId, amount_nano_usd: amount, month } = row
    const ofKeyBudget = row.of_key_budget === 1
    holds.set(nameOf(accountId, id), { accountId, id, keyId, amount, ofKeyBudget, unit: undefined })
    if (month !== null) keys.set(nameOf(accountId, keyId), keyState({ ...row, month }))
  }
  return { holds, keys }
}

function keyState(row: Pick<KeySpendingTable, 'month' | 'spent_nano_usd' | 'held_nano_usd'>): KeyState {
  return { month: row.month, spent: row.spent_nano_usd, held: row.held_nano_usd }
}

interface PriorRow extends ChargedRow, Pick<HoldTable, 'account_id' | 'id'> {
  readonly number: number | null
  readonly entered_at: number | null
}

/** A second round trip, where settlements have no hold: they were charged before, or are late. With their keys. */
async function readCharged(
  client: PostgresClient,
  { settlements }: Places,
  { holds, keys }: { readonly holds: ReadonlyMap<string, OpenHold>; readonly keys: Map<string, KeyState> },
): Promise<ReadonlyMap<string, PriorCharge>> {
  const charged = new Map<string, PriorCharge>()
  const late = settlements.filter(({ accountId, id }) => !holds.has(nameOf(accountId, id)))
  if (late.length === 0) return charged
  const [rows, keyRows] = await Promise.all([
    send<HoldPlace, PriorRow>(client, READ_CHARGED, late),
    send<KeyPlace, KeySpendingTable>(client, READ_KEYS, late),
  ])
  for (const row of keyRows.rows) keys.set(nameOf(row.account_id, row.key_id), keyState(row))
  for (const row of rows.rows) {
    const { number, entered_at: createdAt } = row
    const entry = number === null || createdAt === null ? undefined : { number, createdAt }
    charged.set(nameOf(row.account_id, row.id), priorCharge(row, entry))
  }
  return charged
}

/** A second round trip, the first time that a key with a budget is used. */
async function readKeyCosts(
  client: PostgresClient,
  { budgeted }: Places,
  { keys, now }: { readonly keys: ReadonlyMap<string, KeyState>; readonly now: number },
): Promise<ReadonlyMap<string, NanoUsd>> {
  const costs = new Map<string, NanoUsd>()
  const fresh: KeyPlace[] = []
  for (const [name, place] of budgeted) if (!keys.has(name)) fresh.push(place)
  if (fresh.length === 0) return costs
  const parameters = [...listsOf(KEY_PLACES, fresh), firstDayOfMonth(now)]
  const { rows } = await client.query<KeyCostRow>(READ_KEY_COSTS, parameters)
  for (const row of rows) costs.set(nameOf(row.account_id, row.key_id), row.cost_nano_usd)
  return costs
}

interface KeyCostRow extends Pick<KeySpendingTable, 'account_id' | 'key_id'> {
  readonly cost_nano_usd: NanoUsd
}
