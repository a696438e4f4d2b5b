/**
 * The ledger's program in the database's writer thread: a batch is one transaction, in which each row is read when it is
 * asked for and written at once. Nothing on the main thread imports it; `store.ts` sends it batches.
 */
import { resultCodeOf } from '../../../../db/failure.ts'
import type { HoldTable, KeySpendingTable } from '../../../../db/schema/schema.ts'
import type { ProgramConnection } from '../../../../db/sqlite/connection.ts'
import type { SqlValue } from '../../../../db/sqlite/message.ts'
import type { CompletionRecord } from '../../../../domain/completion.ts'
import type { RunningEstimate, SavedResult } from '../../../../domain/credit.ts'
import type { CompletionId, KeyId } from '../../../../domain/ids.ts'
import type { NanoUsd } from '../../../../domain/money.ts'
import { createSteadyClock } from '../../../../lib/time.ts'
import {
  applyBatch,
  type HoldKey,
  type KeyRef,
  type LedgerTransaction,
  type LoadedAccount,
  type LoadedKey,
  WriteConflict,
} from '../apply-batch.ts'
import {
  addCorrection,
  addToHours,
  type CountedUsage,
  copyLate,
  daysOf,
  LATE_AFTER_MS,
  MARKED_AFTER_MS,
  markLate,
  type UsageSum,
  type UsageSums,
} from '../rollups.ts'
import {
  ACCOUNT_COLUMNS,
  type AccountRow,
  ALERTS,
  accountState,
  BUDGET_ALERTS,
  type ChargedRow,
  type ChargeEntry,
  COMPLETIONS,
  type Column,
  chargeEntry,
  DAYS,
  ENTRY_KEYS,
  ENTRY_OF_KEY,
  type EntryOfKeyRow,
  HOLDS,
  HOURS,
  type Insertion,
  keyedEntryOf,
  keyState,
  LEDGER_ROWS,
  mayBeCorrected,
  namesOf,
  parseAncestors,
  parseWindows,
  priorCharge,
  READ_ACCOUNT_COLUMNS,
  STATE_COLUMNS,
} from '../rows.ts'
import { type AccountState, CREATED, type HoldState, type KeyState, type PriorCharge } from '../state.ts'
import type { Outcome, Unit } from '../unit.ts'
import { budgetReads, writeWindows } from './budgets.ts'
import { unitsOf, type WireBatch } from './store.ts'

/** A batch that lost a race is carried out again on what is there now. */
const MAX_ATTEMPTS = 5

/** SQLite's primary result codes that speak of what is to be written, not of the state of the database. */
const UNIT_ERROR_CODES: ReadonlySet<number> = new Set([
  18, // TOOBIG
  19, // CONSTRAINT
  20, // MISMATCH
  25, // RANGE
])

/** SQLite's clock is this machine's. The time of a ledger never goes back, so that it must not be wrong for a moment. */
const clock = createSteadyClock(Date.now, () => performance.now())

/** Throws, with nothing committed, for everything that is not one unit's fault. */
export function run(connection: ProgramConnection, payload: unknown): readonly Outcome[] {
  const batch = payload as WireBatch // `createSqliteStore` sends nothing else
  const units = unitsOf(batch)
  const { now = clock() } = batch
  if (units.length === 0) return probeWrite(connection)
  for (let attempt = 1; ; attempt++) {
    try {
      return inTransaction(connection, () => applyUnits(connection, units, now))
    } catch (error) {
      if (error instanceof WriteConflict && attempt < MAX_ATTEMPTS) continue
      if (!isUnitError(error)) throw error
      return inTransaction(connection, () => units.map((unit) => applyAlone(connection, unit, now)))
    }
  }
}

function inTransaction<Result>(connection: ProgramConnection, action: () => Result): Result {
  connection.begin()
  try {
    const result = action()
    connection.commit()
    return result
  } catch (error) {
    connection.rollback()
    throw error
  }
}

/** Slower, but what the database refuses of one unit is taken back alone. */
function applyAlone(connection: ProgramConnection, unit: Unit, now: number): Outcome {
  connection.savepoint()
  try {
    const [outcome] = applyUnits(connection, [unit], now)
    if (outcome === undefined) throw new Error('A unit has no outcome.')
    connection.release()
    return outcome
  } catch (error) {
    if (!isUnitError(error)) throw error
    connection.rollbackToSavepoint()
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}

/** What is not SQLite's is a fault of our own in carrying out one unit: it must not stop the others either. */
function isUnitError(error: unknown): boolean {
  const code = resultCodeOf(error)
  return code === undefined || UNIT_ERROR_CODES.has(code & 0xff)
}

/** An empty batch asks whether the database can be written to. A page must be written to tell: the disk may be full. */
function probeWrite(connection: ProgramConnection): readonly Outcome[] {
  inTransaction(connection, () => connection.prepare('pragma user_version = 0').run())
  return []
}

/** Throws at the first unit that the database refuses; then nothing of the transaction may be committed. */
function applyUnits(connection: ProgramConnection, units: readonly Unit[], now: number): readonly Outcome[] {
  const hours: UsageSums = new Map()
  const { outcomes, accounts } = applyBatch(transactionOn(connection, hours, now), units)
  for (const account of accounts.values()) writeAccount(connection, account)
  writeSums(connection, hours)
  return outcomes
}

const SELECT_ACCOUNT = `select ${READ_ACCOUNT_COLUMNS} from credit where account_id = ?`
const SELECT_KEY = 'select month, spent_nano_usd, held_nano_usd from key_spending where account_id = ? and key_id = ?'
const SELECT_ENTRY = `${ENTRY_OF_KEY} where asked.account_id = ? and asked.key = ?`
const SELECT_CORRECTION = 'select 1 from ledger where account_id = ? and adjusts = ?'

function transactionOn(connection: ProgramConnection, hours: UsageSums, now: number): LedgerTransaction {
  return {
    now,
    readAccount(id) {
      const row = connection.prepare<AccountRow>(SELECT_ACCOUNT).get(id)
      return row && accountState(row)
    },
    readKey(accountId, keyId) {
      const row = connection.prepare<KeySpendingTable>(SELECT_KEY).get(accountId, keyId)
      return row && keyState(row)
    },
    costSince(ref, day) {
      writeSums(connection, hours)
      return costSince(connection, ref, day)
    },
    lineage: (ref) => lineage(connection, ref),
    readHold: (ref) => holdOf(connection, SELECT_HOLD, ref),
    takeHold: (ref) => holdOf(connection, TAKE_HOLD, ref),
    insertHold: (unit, { amount, budgets }) => insertRow(connection, INSERT_HOLD, { unit, amount, budgets }) === 1,
    raiseHold: ({ accountId, id }, amount) => void connection.prepare(RAISE_HOLD).run(amount, accountId, id),
    setEstimate: (estimate) => setEstimate(connection, estimate),
    readCharged: (ref) => readCharged(connection, ref),
    insertCompletion(record) {
      insertRow(connection, INSERT_COMPLETION, record)
      addToHours(hours, record)
      // exports go by this machine's clock, which the time of the ledger may follow later
      const exportable = Math.max(now, Date.now()) - MARKED_AFTER_MS
      if (record.createdAt < exportable) connection.prepare(MARK_LATE).run(record.accountId, record.id)
      if (record.createdAt < now - LATE_AFTER_MS) connection.prepare(COPY_LATE).run(record.accountId, record.id)
    },
    correctCompletion(record, charged) {
      writeSums(connection, hours)
      replaceCompletion(connection, { ...record, createdAt: charged.createdAt }, charged)
    },
    saveAnswer: (kept, subjectId) => saveAnswer(connection, kept, { subjectId, now }),
    insertLedgerRow: (accountId, row) => void insertRow(connection, INSERT_LEDGER_ROW, { accountId, row }),
    readEntry({ accountId, key }) {
      const row = connection.prepare<EntryOfKeyRow>(SELECT_ENTRY).get(accountId, key)
      return row && keyedEntryOf(row)
    },
    isCorrected: ({ accountId, number }) => connection.prepare(SELECT_CORRECTION).get(accountId, number) !== undefined,
    insertEntryKey: (once, entry) => void insertRow(connection, INSERT_ENTRY_KEY, { ...once, entry }),
    insertAlert: (accountId, row) => void insertRow(connection, INSERT_ALERT, { accountId, row }),
    budgets: budgetReads(connection, now),
    insertBudgetAlert: (accountId, row) => void insertRow(connection, INSERT_BUDGET_ALERT, { accountId, row }),
  }
}

interface RowInsertion<Row> {
  readonly sql: string
  readonly columns: readonly Column<Row>[]
}

function insertion<Row>({ table, columns, rest = '' }: Insertion<Row>): RowInsertion<Row> {
  const [names, marks] = [namesOf(columns), columns.map(() => '?').join(', ')]
  return { columns, sql: `insert into ${table} (${names}) values (${marks}) ${rest}` }
}

const INSERT_HOLD = insertion({ ...HOLDS, rest: 'on conflict do nothing' })
const INSERT_COMPLETION = insertion(COMPLETIONS)
const INSERT_LEDGER_ROW = insertion(LEDGER_ROWS)
const INSERT_ALERT = insertion(ALERTS)
const INSERT_BUDGET_ALERT = insertion(BUDGET_ALERTS)
const INSERT_ENTRY_KEY = insertion(ENTRY_KEYS)
const ADD_TO_HOUR = insertion(HOURS)
const ADD_TO_DAY = insertion(DAYS)

/** @returns How many rows were inserted or changed. */
function insertRow<Row>(connection: ProgramConnection, { sql, columns }: RowInsertion<Row>, row: Row): number {
  return connection.prepare(sql).run(...valuesOf(columns, row))
}

function valuesOf<Row>(columns: readonly Column<Row>[], row: Row): SqlValue[] {
  return columns.map((column) => {
    const value = column.value(row)
    return typeof value === 'boolean' ? Number(value) : (value ?? null)
  })
}

/** Of a key and the keys below it. */
const COST_SINCE = `with recursive family (id) as (
  select ?3 union select api_key.id from family
    join api_key on api_key.account_id = ?1 and api_key.parent_id = family.id
)
select coalesce(sum(cost_nano_usd), 0) as cost_nano_usd from family
join usage_rollup on account_id = ?1 and day >= ?2 and key_id = family.id`

function costSince(connection: ProgramConnection, { accountId, keyId }: KeyRef, day: number): NanoUsd {
  const row = connection.prepare<{ cost_nano_usd: NanoUsd }>(COST_SINCE).get(accountId, day, keyId)
  return row?.cost_nano_usd ?? 0n
}

const LINEAGE = `with recursive above (id, depth) as (
  select parent_id, 1 from api_key where account_id = ?1 and id = ?2
  union all select api_key.parent_id, depth + 1 from above
    join api_key on api_key.account_id = ?1 and api_key.id = above.id
)
select id from above where id is not null order by depth`

function lineage(connection: ProgramConnection, { accountId, keyId }: KeyRef): readonly KeyId[] {
  return connection
    .prepare<{ id: KeyId }>(LINEAGE)
    .all(accountId, keyId)
    .map(({ id }) => id)
}

const TAKE_HOLD = `delete from hold where account_id = ? and id = ?
returning key_id, amount_nano_usd, of_key_budget, ancestors, budgets`

const SELECT_HOLD = `select key_id, amount_nano_usd, of_key_budget, ancestors, budgets
from hold where account_id = ? and id = ?`

function holdOf(connection: ProgramConnection, sql: string, { accountId, id }: HoldKey): HoldState | undefined {
  const row = connection.prepare<HoldTable>(sql).get(accountId, id)
  if (row === undefined) return undefined
  const own = { keyId: row.key_id, amount: row.amount_nano_usd, ofKeyBudget: row.of_key_budget === 1 }
  const hold = row.budgets === null ? own : { ...own, budgets: parseWindows(row.budgets) }
  return row.ancestors === null ? hold : { ...hold, ancestors: parseAncestors(row.ancestors) }
}

const RAISE_HOLD = 'update hold set amount_nano_usd = ? where account_id = ? and id = ?'

const SET_ESTIMATE = `update hold set provider = ?, prompt_tokens = ?, completion_tokens = ?, estimate_nano_usd = ?,
  model = coalesce(?, model), price_version = coalesce(?, price_version), byok_fee_ppm = ?
where account_id = ? and id = ?`

function setEstimate(connection: ProgramConnection, estimate: RunningEstimate): void {
  const { provider, promptTokens, completionTokens, costNanoUsd, fallback, byokFeePpm = null, accountId, id } = estimate
  const { model = null, priceVersion = null } = fallback ?? {}
  const figures = [promptTokens, completionTokens, costNanoUsd] as const
  connection.prepare(SET_ESTIMATE).run(provider, ...figures, model, priceVersion, byokFeePpm, accountId, id)
}

/** Entries are looked for from the newest on: an estimate is seldom corrected long after it was charged. */
const SELECT_CHARGED = `select key_id, model, created_at, prompt_tokens, completion_tokens, cost_nano_usd,
  unbilled_nano_usd, provider_cost_nano_usd, status, usage_source
from completion where account_id = ? and id = ?`

const SELECT_CHARGE = `with recursive entry (number, created_at, budgets) as (
  select number, created_at, budgets from (select number, created_at, budgets from ledger
    where account_id = ?1 and completion_id = ?2 and kind = 'charge' and adjusts is null order by number desc limit 1)
  union all
  select ledger.number, entry.created_at, entry.budgets from entry
    join ledger on ledger.account_id = ?1 and ledger.adjusts = entry.number
)
select number, created_at, budgets from entry order by number desc limit 1`

function readCharged(connection: ProgramConnection, { accountId, id }: HoldKey): PriorCharge | undefined {
  const row = connection.prepare<ChargedRow>(SELECT_CHARGED).get(accountId, id)
  if (row === undefined) return undefined
  if (!mayBeCorrected(row)) return priorCharge(row, undefined)
  const entry = connection.prepare<ChargeEntry>(SELECT_CHARGE).get(accountId, id)
  return priorCharge(row, entry && chargeEntry(entry))
}

const SAVE_ANSWER = `update idempotency set state = ?, status = ?, headers = ?, body = ?, ended_at = ?
where account_id = ? and endpoint = ? and key = ? and subject_id = ? and state = 'running'`

function saveAnswer(
  connection: ProgramConnection,
  { accountId, endpoint, key, answer }: SavedResult,
  { subjectId, now }: { readonly subjectId: CompletionId; readonly now: number },
): void {
  connection
    .prepare(SAVE_ANSWER)
    .run(
      answer === undefined ? 'too_large' : 'kept',
      answer?.status ?? null,
      answer === undefined ? null : JSON.stringify(answer.headers),
      answer?.body ?? null,
      now,
      accountId,
      endpoint,
      key,
      subjectId,
    )
}

/** Throws `WriteConflict` where the account or one of its keys changed since it was read, or does not cover its holds. */
function writeAccount(connection: ProgramConnection, account: LoadedAccount): void {
  if (account.state !== undefined && account.state !== account.read) moveAccount(connection, account, account.state)
  for (const key of account.keys.values()) {
    if (key.state !== undefined && key.state !== key.read) moveKey(connection, { account, key, to: key.state })
  }
  if (account.budgets !== undefined) writeWindows(connection, account.id, account.budgets)
}

const MARKS = STATE_COLUMNS.map(() => '?').join(', ')

const CREATE_ACCOUNT = `insert into credit (account_id, ${ACCOUNT_COLUMNS}, retired_nano_usd)
values (?, ${MARKS}, 0) on conflict do nothing`

/** One statement for all units of a batch: it holds only what is there, whatever was decided (LED-3). */
const UPDATE_ACCOUNT_IF_UNCHANGED = `update credit set (${ACCOUNT_COLUMNS}) = (${MARKS})
where account_id = ? and balance_nano_usd - held_nano_usd >= ?
  and ${STATE_COLUMNS.map(({ name }) => `${name} is ?`).join(' and ')}`

function moveAccount(
  connection: ProgramConnection,
  { id, read: from = CREATED, ...account }: LoadedAccount,
  to: AccountState,
): void {
  if (from === CREATED) connection.prepare(CREATE_ACCOUNT).run(id, ...valuesOf(STATE_COLUMNS, CREATED))
  const moved = connection
    .prepare(UPDATE_ACCOUNT_IF_UNCHANGED)
    .run(...valuesOf(STATE_COLUMNS, to), id, account.neededNanoUsd, ...valuesOf(STATE_COLUMNS, from))
  if (moved !== 1)
    throw new WriteConflict(`The credit of ${id} changed since it was read, or does not cover its holds.`)
}

const CREATE_KEY = `insert into key_spending (account_id, key_id, month, spent_nano_usd, held_nano_usd)
values (?, ?, ?, ?, ?) on conflict do nothing`

const UPDATE_KEY_IF_UNCHANGED = `update key_spending set month = ?, spent_nano_usd = ?, held_nano_usd = ?
where account_id = ? and key_id = ? and month = ? and spent_nano_usd = ? and held_nano_usd = ?`

function moveKey(
  connection: ProgramConnection,
  { account, key, to }: { readonly account: LoadedAccount; readonly key: LoadedKey; readonly to: KeyState },
): void {
  const { id, read } = key
  const moved =
    read === undefined
      ? connection.prepare(CREATE_KEY).run(account.id, id, to.month, to.spent, to.held)
      : connection
          .prepare(UPDATE_KEY_IF_UNCHANGED)
          .run(to.month, to.spent, to.held, account.id, id, read.month, read.spent, read.held)
  if (moved !== 1) throw new WriteConflict(`The spending of ${id} changed since it was read.`)
}

const THIS_COMPLETION = { where: 'completion.account_id = ? and completion.id = ?' }
const COPY_LATE = copyLate('1', THIS_COMPLETION)
const COPY_REPLACED = copyLate('-1', THIS_COMPLETION)
const MARK_LATE = markLate(THIS_COMPLETION)
const DELETE_COMPLETION = 'delete from completion where account_id = ? and id = ?'

/** The row that is there makes room for the one of `record`; the sums must have been written before. */
function replaceCompletion(connection: ProgramConnection, record: CompletionRecord, before: CountedUsage): void {
  connection.prepare(COPY_REPLACED).run(record.accountId, record.id)
  connection.prepare(DELETE_COMPLETION).run(record.accountId, record.id)
  insertRow(connection, INSERT_COMPLETION, record)
  connection.prepare(COPY_LATE).run(record.accountId, record.id)
  connection.prepare(MARK_LATE).run(record.accountId, record.id)
  const hours: UsageSums = new Map()
  addCorrection(hours, record, before)
  for (const change of hours.values()) changeSum(connection, CHANGE_HOUR, change)
  for (const change of daysOf(hours).values()) changeSum(connection, CHANGE_DAY, change)
}

const CHANGE_HOUR = changeOfSum('usage_hour', 'hour')
const CHANGE_DAY = changeOfSum('usage_rollup', 'day')

function changeOfSum(table: string, unit: string): string {
  return `update ${table} set prompt_tokens = prompt_tokens + ?, completion_tokens = completion_tokens + ?,
  cost_nano_usd = cost_nano_usd + ?, margin_nano_usd = margin_nano_usd + ?
where account_id = ? and ${unit} = ? and key_id = ? and model = ?`
}

function changeSum(connection: ProgramConnection, sql: string, change: UsageSum): void {
  const { accountId, unit, keyId, model, promptTokens, completionTokens, costNanoUsd, marginNanoUsd } = change
  const changes = connection
    .prepare(sql)
    .run(promptTokens, completionTokens, costNanoUsd, marginNanoUsd, accountId, unit, keyId, model)
  if (changes !== 1) throw new Error(`A completion of ${accountId} is missing from the rollups.`)
}

/** Afterwards there is nothing left to write. */
function writeSums(connection: ProgramConnection, hours: UsageSums): void {
  for (const sum of hours.values()) insertRow(connection, ADD_TO_HOUR, sum)
  for (const sum of daysOf(hours).values()) insertRow(connection, ADD_TO_DAY, sum)
  hours.clear()
}
