/** Locks the accounts of a batch and reads the rows that its units need, in one round trip. */
import type { PostgresClient, PostgresRows } from '../../../../db/postgres/client.ts'
import type { HoldTable, KeySpendingTable } from '../../../../db/schema/schema.ts'
import type { CompletionRecord } from '../../../../domain/completion.ts'
import type { AccountId, KeyId } from '../../../../domain/ids.ts'
import type { NanoUsd } from '../../../../domain/money.ts'
import { type EntryRef, firstDayOfMonth, type HoldKey, type KeyRef, type RowRef } from '../apply-batch.ts'
import { countedBy, type OwnedWindow } from '../batch-budgets.ts'
import {
  type AccountRow,
  accountState,
  type ChargedRow,
  chargeEntry,
  ENTRY_OF_KEY,
  type EntryOfKeyRow,
  keyedEntryOf,
  keyState,
  parseAncestors,
  parseWindows,
  priorCharge,
  READ_ACCOUNT_COLUMNS,
  text,
  whole,
} from '../rows.ts'
import type { AccountState, KeyState, PriorCharge } from '../state.ts'
import type { EntryUnit, HoldUnit, Unit } from '../unit.ts'
import { type BudgetQuery, budgetReadsOf, readBudgetFacts } from './budgets.ts'
import { type BatchData, type KeyCost, nameOf, type OpenHold, rowKey } from './memory.ts'
import { listsOf, type RowsStatement, rowsOf, send } from './statement.ts'

/**
 * Reads the time, and disables sequential scans: plans are cached, and one that was made while `hold` was empty would scan
 * the whole table, including its dead rows, for every batch of the next busy minute.
 */
const READ_CLOCK = `select (extract(epoch from clock_timestamp()) * 1000)::bigint as now,
  set_config('enable_seqscan', 'off', true) as seqscan`

/**
 * In the order of their IDs, so that batches of two processes cannot deadlock. Every change of an account's money is made
 * under this lock.
 */
const LOCK_ACCOUNTS = `select account_id, ${READ_ACCOUNT_COLUMNS}
from credit where account_id = any($1::text[]) order by account_id for no key update`

const HOLD_KEY_COLUMNS = [text<HoldKey>('account_id', (hold) => hold.accountId), text<HoldKey>('id', (hold) => hold.id)]

/** Holds with the spending of their keys. The lateral join looks each up by its key, whatever size the planner estimates. */
const READ_HOLDS: RowsStatement<HoldKey> = {
  columns: HOLD_KEY_COLUMNS,
  sql: `select found.account_id, found.id, found.key_id, found.amount_nano_usd, found.of_key_budget,
  found.ancestors, found.budgets, key_spending.month, key_spending.spent_nano_usd, key_spending.held_nano_usd
from ${rowsOf(HOLD_KEY_COLUMNS, 'asked')}
cross join lateral (select hold.* from hold
  where hold.account_id = asked.account_id and hold.id = asked.id limit 1) as found
left join key_spending on key_spending.account_id = found.account_id and key_spending.key_id = found.key_id`,
}

const CHARGED = `completion.account_id, completion.id, completion.key_id, completion.model, completion.created_at,
  completion.prompt_tokens, completion.completion_tokens, completion.cost_nano_usd, completion.unbilled_nano_usd,
  completion.provider_cost_nano_usd, completion.status, completion.usage_source`

/** Charges, each looked up as a hold is, with the last ledger entry of those that are estimates, searched from the newest. */
const READ_CHARGED: RowsStatement<HoldKey> = {
  columns: HOLD_KEY_COLUMNS,
  sql: `select ${CHARGED}, entry.number, entry.created_at as entered_at, entry.budgets
from ${rowsOf(HOLD_KEY_COLUMNS, 'asked')}
cross join lateral (select ${CHARGED} from completion
  where completion.account_id = asked.account_id and completion.id = asked.id limit 1) as completion
left join lateral (
  with recursive chain (number, created_at, budgets) as (
    (select number, created_at, budgets from ledger
      where completion.status = 'incomplete' and completion.usage_source = 'estimated' and completion.cost_nano_usd > 0
        and ledger.account_id = asked.account_id and ledger.completion_id = asked.id and kind = 'charge' and adjusts is null
      order by number desc limit 1)
    union all
    select ledger.number, chain.created_at, chain.budgets from chain
      join ledger on ledger.account_id = asked.account_id and ledger.adjusts = chain.number
  )
  select number, created_at, budgets from chain order by number desc limit 1
) as entry on true`,
}

const ENTRY_REF_COLUMNS = [
  text<EntryRef>('account_id', (ref) => ref.accountId),
  text<EntryRef>('key', (ref) => ref.key),
]

const READ_ENTRIES: RowsStatement<EntryRef> = {
  columns: ENTRY_REF_COLUMNS,
  sql: `${ENTRY_OF_KEY} where (asked.account_id, asked.key) in (select * from ${rowsOf(ENTRY_REF_COLUMNS, 'given')})`,
}

const ROW_REF_COLUMNS = [
  text<RowRef>('account_id', (ref) => ref.accountId),
  whole<RowRef>('number', (ref) => ref.number),
]

const READ_CORRECTED: RowsStatement<RowRef> = {
  columns: ROW_REF_COLUMNS,
  sql: `select ledger.account_id, ledger.adjusts from ${rowsOf(ROW_REF_COLUMNS, 'asked')}
join ledger on ledger.account_id = asked.account_id and ledger.adjusts = asked.number`,
}

/** References to the rows that the units need. */
export type BatchRefs = ReturnType<typeof emptyRefs>

function emptyRefs() {
  return {
    accounts: new Set<AccountId>(),
    holds: [] as HoldKey[],
    /** Besides the keys that are read with a hold. */
    keys: new Map<string, KeyRef>(),
    /** Keys whose costs are read if they have no row. */
    budgeted: new Map<string, KeyRef>(),
    /** Keys of entries, whose ancestors are read. */
    corrected: new Map<string, KeyRef>(),
    /** Records of settlements: those without a hold may have been charged already. */
    settlements: [] as CompletionRecord[],
    /** Completions whose holds units of the batch end, and those that two or more of its units end. */
    ended: new Set<string>(),
    endedTwice: new Set<string>(),
    /** Entries that are made under a key. */
    entries: [] as EntryRef[],
    /** Rows that entries correct. */
    adjusted: [] as RowRef[],
    /** Holds to be made, for their budgets. */
    made: [] as HoldUnit[],
  }
}

export function refsOf(units: readonly Unit[]): BatchRefs {
  const refs = emptyRefs()
  let hasHolds = false
  let isMixed = false
  for (const unit of units) {
    addRefs(refs, unit)
    if (unit.kind === 'hold') hasHolds = true
    else isMixed ||= hasHolds
  }
  if (!isMixed) return refs
  // Units may need the key of a hold that the same batch creates before them.
  for (const unit of units) {
    if (unit.kind !== 'hold') continue
    addKey(refs.keys, unit)
    for (const { keyId } of unit.ancestors ?? []) addKey(refs.keys, { accountId: unit.accountId, keyId })
  }
  return refs
}

function addRefs(refs: BatchRefs, unit: Unit): void {
  const { accounts, holds, settlements } = refs
  if (unit.kind === 'estimates') return
  const ref = unit.kind === 'settle' ? unit.record : unit
  accounts.add(ref.accountId)
  if ('id' in ref) holds.push(ref)
  if (unit.kind === 'settle' || unit.kind === 'release') addEnd(refs, unit.kind === 'settle' ? unit.record : unit)
  if (unit.kind === 'entry') addEntry(refs, unit)
  if (unit.kind === 'settle') settlements.push(unit.record)
  else if (unit.kind === 'hold') {
    refs.made.push(unit)
    addBudgets(refs, unit)
  }
}

function addEnd({ ended, endedTwice }: BatchRefs, { accountId, id }: HoldKey): void {
  const name = nameOf(accountId, id)
  if (ended.has(name)) endedTwice.add(name)
  else ended.add(name)
}

/** Settlements that find no hold: there is none, or an earlier unit of the batch has ended it. */
function lateSettlements({ settlements, endedTwice }: BatchRefs, holds: ReadonlyMap<string, OpenHold>) {
  return settlements.filter(({ accountId, id }) => {
    const name = nameOf(accountId, id)
    return !holds.has(name) || endedTwice.has(name)
  })
}

function addEntry({ keys, corrected, entries, adjusted }: BatchRefs, { accountId, once, entry }: EntryUnit): void {
  if (once !== undefined) entries.push({ accountId, key: once.key })
  if (entry.adjusts === undefined) return
  const { number, keyId } = entry.adjusts
  adjusted.push({ accountId, number })
  if (keyId === undefined) return
  addKey(keys, { accountId, keyId })
  addKey(corrected, { accountId, keyId })
}

function addBudgets({ keys, budgeted }: BatchRefs, { accountId, keyId, keyBudgetNanoUsd, ancestors = [] }: HoldUnit) {
  for (const budget of [{ keyId, nanoUsd: keyBudgetNanoUsd }, ...ancestors]) {
    if (budget.nanoUsd === undefined) continue
    addKey(keys, { accountId, keyId: budget.keyId })
    addKey(budgeted, { accountId, keyId: budget.keyId })
  }
}

/** Every statement after the lock sees what its previous owner committed. */
export async function readBatchData(
  client: PostgresClient,
  refs: BatchRefs,
  now: number | undefined,
): Promise<BatchData> {
  const { holds, keys, entries } = refs
  const [begun, accountRows, holdRows, keyRows, entryRows, correctedRows] = await Promise.all([
    client.query<{ readonly now: number }>(READ_CLOCK),
    lockAccounts(client, refs),
    holds.length === 0 ? NO_ROWS : send<HoldKey, HoldRow>(client, READ_HOLDS, holds),
    keys.size === 0 ? NO_ROWS : send<KeyRef, KeySpendingTable>(client, READ_KEYS, [...keys.values()]),
    entries.length === 0 ? NO_ROWS : send<EntryRef, EntryOfKeyRow>(client, READ_ENTRIES, entries),
    readCorrected(client, refs),
  ])
  const at = now ?? begun.rows[0]?.now
  if (at === undefined) throw new Error('The database returned no time.')
  const facts = { ...openHolds(holdRows.rows), accounts: accountStates(accountRows.rows), now: at }
  for (const row of keyRows.rows) facts.keys.set(nameOf(row.account_id, row.key_id), keyState(row))
  const charged = await readCharged(client, refs, facts)
  const lineages = await readAncestors(client, refs, facts)
  const keyCosts = await readKeyCosts(client, refs, facts)
  const budgets = budgetReadsOf(await readBudgetFacts(client, budgetQuery(refs, { ...facts, charged, lineages })))
  const keyed = entryRows.rows.map((row) => [nameOf(row.account_id, row.key), keyedEntryOf(row)] as const)
  return { ...facts, budgets, keyCosts, lineages, charged, entries: new Map(keyed), correctedRows }
}

interface BudgetNeeds {
  readonly accounts: ReadonlyMap<AccountId, AccountState>
  readonly holds: ReadonlyMap<string, OpenHold>
  readonly charged: ReadonlyMap<string, PriorCharge>
  readonly lineages: ReadonlyMap<string, readonly KeyId[]>
  readonly now: number
}

/** What holds and unrecorded settlements of accounts with budgets count for, and the windows of holds and late settlements. */
function budgetQuery(refs: BatchRefs, { accounts, holds, charged, lineages, now }: BudgetNeeds): BudgetQuery {
  const hasBudgets = (accountId: AccountId) => accounts.get(accountId)?.hasBudgets === true
  const made = refs.made.filter(({ accountId }) => hasBudgets(accountId))
  const unheld = lateSettlements(refs, holds).filter(({ accountId }) => hasBudgets(accountId))
  const counted = [
    ...made.map((unit) => {
      const { accountId, ancestors } = unit
      return {
        accountId,
        ...countedBy(
          unit,
          ancestors?.map((above) => above.keyId),
        ),
      }
    }),
    ...unheld.map((record) => {
      const { accountId, keyId } = record
      return { accountId, ...countedBy(record, lineages.get(nameOf(accountId, keyId))) }
    }),
  ]
  const windows: OwnedWindow[] = []
  for (const { accountId, budgets } of holds.values()) {
    for (const ref of budgets ?? []) windows.push({ accountId, ...ref })
  }
  for (const { accountId, id } of refs.settlements) {
    for (const ref of charged.get(nameOf(accountId, id))?.entry?.budgets ?? []) windows.push({ accountId, ...ref })
  }
  return { counted, windows, now }
}

interface CorrectedRow {
  readonly account_id: AccountId
  readonly adjusts: number
}

async function readCorrected(client: PostgresClient, { adjusted }: BatchRefs): Promise<ReadonlySet<string>> {
  if (adjusted.length === 0) return new Set()
  const { rows } = await send<RowRef, CorrectedRow>(client, READ_CORRECTED, adjusted)
  return new Set(rows.map((row) => rowKey({ accountId: row.account_id, number: row.adjusts })))
}

interface LockedRow extends AccountRow {
  readonly account_id: AccountId
}

type HoldColumn = 'account_id' | 'id' | 'key_id' | 'amount_nano_usd' | 'of_key_budget' | 'ancestors' | 'budgets'

interface HoldRow extends Pick<HoldTable, HoldColumn> {
  readonly month: number | null
  readonly spent_nano_usd: NanoUsd
  readonly held_nano_usd: NanoUsd
}

const NO_ROWS: PostgresRows<never> = { rows: [], changes: 0 }

export function lockAccounts(client: PostgresClient, { accounts }: BatchRefs): Promise<PostgresRows<LockedRow>> {
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
    const ancestors = parseAncestors(row.ancestors)
    const budgets = parseWindows(row.budgets)
    holds.set(nameOf(accountId, id), { accountId, id, keyId, amount, ofKeyBudget, ancestors, budgets })
    if (month !== null) keys.set(nameOf(accountId, keyId), keyState({ ...row, month }))
  }
  return { holds, keys }
}

interface PriorRow extends ChargedRow, Pick<HoldTable, 'account_id' | 'id'> {
  readonly number: number | null
  readonly entered_at: number | null
  readonly budgets: string | null
}

/** A second round trip for settlements without a hold, which were charged before or are late; reads their keys too. */
async function readCharged(
  client: PostgresClient,
  refs: BatchRefs,
  { holds, keys }: { readonly holds: ReadonlyMap<string, OpenHold>; readonly keys: Map<string, KeyState> },
): Promise<ReadonlyMap<string, PriorCharge>> {
  const charged = new Map<string, PriorCharge>()
  const late = lateSettlements(refs, holds)
  if (late.length === 0) return charged
  const [rows, keyRows] = await Promise.all([
    send<HoldKey, PriorRow>(client, READ_CHARGED, late),
    send<KeyRef, KeySpendingTable>(client, READ_KEYS, late),
  ])
  for (const row of keyRows.rows) keys.set(nameOf(row.account_id, row.key_id), keyState(row))
  for (const row of rows.rows) {
    const { number, entered_at: createdAt, budgets } = row
    const entry = number === null || createdAt === null ? undefined : { number, created_at: createdAt, budgets }
    charged.set(nameOf(row.account_id, row.id), priorCharge(row, entry && chargeEntry(entry)))
  }
  return charged
}

const KEY_REF_COLUMNS = [text<KeyRef>('account_id', (key) => key.accountId), text<KeyRef>('key_id', (key) => key.keyId)]

const READ_KEYS: RowsStatement<KeyRef> = {
  columns: KEY_REF_COLUMNS,
  sql: `select key_spending.account_id, key_spending.key_id, key_spending.month, spent_nano_usd, held_nano_usd
from ${rowsOf(KEY_REF_COLUMNS, 'asked')}
join key_spending on key_spending.account_id = asked.account_id and key_spending.key_id = asked.key_id`,
}

/** Of keys and the keys below them. */
const READ_KEY_COSTS = `select asked.account_id, asked.key_id, family.id as member_id,
  coalesce(sum(cost_nano_usd), 0)::bigint as cost_nano_usd
from ${rowsOf(KEY_REF_COLUMNS, 'asked')}
cross join lateral (
  with recursive below (id) as (
    select asked.key_id collate "C"
    union select api_key.id from below
      join api_key on api_key.account_id = asked.account_id and api_key.parent_id = below.id
  )
  select id from below
) as family
left join usage_rollup on usage_rollup.account_id = asked.account_id and usage_rollup.key_id = family.id
  and usage_rollup.day >= $3
group by asked.account_id, asked.key_id, family.id`

const READ_LINEAGES: RowsStatement<KeyRef> = {
  columns: KEY_REF_COLUMNS,
  sql: `select asked.account_id, asked.key_id, above.id as ancestor_id
from ${rowsOf(KEY_REF_COLUMNS, 'asked')}
cross join lateral (
  with recursive above (id, depth) as (
    select parent_id, 1 from api_key where account_id = asked.account_id and id = asked.key_id
    union all select api_key.parent_id, depth + 1 from above
      join api_key on api_key.account_id = asked.account_id and api_key.id = above.id
  )
  select id, depth from above where id is not null
) as above
order by asked.account_id, asked.key_id, above.depth`,
}

function addKey(keys: Map<string, KeyRef>, ref: KeyRef): void {
  keys.set(nameOf(ref.accountId, ref.keyId), ref)
}

/** The ancestors of the keys of holds, late settlements and corrections, with their rows. Rare, so read later. */
async function readAncestors(
  client: PostgresClient,
  refs: BatchRefs,
  { holds, keys }: { readonly holds: ReadonlyMap<string, OpenHold>; readonly keys: Map<string, KeyState> },
): Promise<ReadonlyMap<string, readonly KeyId[]>> {
  const lineages = new Map<string, KeyId[]>()
  const unheld = new Map(refs.corrected)
  for (const record of lateSettlements(refs, holds)) addKey(unheld, record)
  const asked = [...unheld.values()]
  const rows = asked.length === 0 ? [] : (await send<KeyRef, LineageRow>(client, READ_LINEAGES, asked)).rows
  const above = new Map<string, KeyRef>()
  for (const { account_id: accountId, key_id: keyId, ancestor_id: ancestorId } of rows) {
    const name = nameOf(accountId, keyId)
    lineages.set(name, [...(lineages.get(name) ?? []), ancestorId])
    addKey(above, { accountId, keyId: ancestorId })
  }
  for (const { accountId, ancestors = [] } of holds.values()) {
    for (const { keyId } of ancestors) addKey(above, { accountId, keyId })
  }
  const unread = [...above].flatMap(([name, ref]) => (keys.has(name) ? [] : [ref]))
  if (unread.length === 0) return lineages
  const read = await send<KeyRef, KeySpendingTable>(client, READ_KEYS, unread)
  for (const row of read.rows) keys.set(nameOf(row.account_id, row.key_id), keyState(row))
  return lineages
}

interface LineageRow extends Pick<KeySpendingTable, 'account_id' | 'key_id'> {
  readonly ancestor_id: KeyId
}

/** Another round trip, when a key with a budget is used for the first time. */
async function readKeyCosts(
  client: PostgresClient,
  { budgeted }: BatchRefs,
  { keys, now }: { readonly keys: ReadonlyMap<string, KeyState>; readonly now: number },
): Promise<ReadonlyMap<string, KeyCost>> {
  const fresh: KeyRef[] = []
  for (const [name, ref] of budgeted) if (!keys.has(name)) fresh.push(ref)
  if (fresh.length === 0) return new Map()
  const parameters = [...listsOf(KEY_REF_COLUMNS, fresh), firstDayOfMonth(now)]
  const { rows } = await client.query<KeyCostRow>(READ_KEY_COSTS, parameters)
  const costs = Map.groupBy(rows, (row) => nameOf(row.account_id, row.key_id))
  return new Map([...costs].map(([name, members]) => [name, costOf(members)]))
}

function costOf(members: readonly KeyCostRow[]): KeyCost {
  const nanoUsd = members.reduce((sum, { cost_nano_usd: cost }) => sum + cost, 0n)
  return { nanoUsd, family: new Set(members.map(({ member_id: id }) => id)) }
}

interface KeyCostRow extends Pick<KeySpendingTable, 'account_id' | 'key_id'> {
  readonly member_id: KeyId
  readonly cost_nano_usd: NanoUsd
}
