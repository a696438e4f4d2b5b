/** Carries units out on an open transaction of SQLite: each row is read when it is asked for and written at once. */
import type { HoldTable, KeySpendingTable } from '../../../../db/schema/schema.ts'
import type { ProgramConnection } from '../../../../db/sqlite/connection.ts'
import type { RunningEstimate, SavedResult } from '../../../../domain/credit.ts'
import type { AccountId, CompletionId, KeyId } from '../../../../domain/ids.ts'
import type { NanoUsd } from '../../../../domain/money.ts'
import { applyBatch, firstEstimate } from '../apply-batch.ts'
import {
  ACCOUNT_COLUMNS,
  type AccountRow,
  accountState,
  ancestorsText,
  type ChargedRow,
  type ChargeEntry,
  CREATED,
  DEFAULT_THRESHOLDS_TEXT,
  ENTRY_OF_KEY,
  type EntryOfKeyRow,
  keyedEntryOf,
  mayBeCorrected,
  parseAncestors,
  priorCharge,
  thresholdsText,
} from '../rows.ts'
import {
  type AccountState,
  type AlertRow,
  type HoldState,
  heldAncestors,
  type KeyState,
  type LedgerRow,
  type PriorCharge,
} from '../state.ts'
import {
  type EntryRef,
  type HoldKey,
  type KeyRef,
  type LedgerTransaction,
  type LoadedAccount,
  type LoadedKey,
  type RowRef,
  WriteConflict,
} from '../transaction.ts'
import type { EntryKey, HoldUnit, KeyedEntry, LedgerEntry, Outcome, Unit } from '../unit.ts'
import { addToHours, type UsageSums } from '../usage-sums.ts'
import { insertCompletion, replaceCompletion, writeSums } from './completions.ts'

/** Throws at the first unit that the database refuses; then nothing of the transaction may be committed. */
export function applyUnits(connection: ProgramConnection, units: readonly Unit[], now: number): readonly Outcome[] {
  const hours: UsageSums = new Map()
  const { outcomes, accounts } = applyBatch(transactionOn(connection, hours, now), units)
  for (const account of accounts.values()) writeAccount(connection, account)
  writeSums(connection, hours)
  return outcomes
}

function transactionOn(connection: ProgramConnection, hours: UsageSums, now: number): LedgerTransaction {
  return {
    now,
    readAccount: (id) => readAccount(connection, id),
    readKey: (accountId, keyId) => readKey(connection, accountId, keyId),
    costSince(ref, day) {
      writeSums(connection, hours)
      return costSince(connection, ref, day)
    },
    lineage: (ref) => lineage(connection, ref),
    readHold: (ref) => holdOf(connection, SELECT_HOLD, ref),
    takeHold: (ref) => holdOf(connection, TAKE_HOLD, ref),
    insertHold: (unit, amount) => insertHold(connection, unit, amount),
    raiseHold: ({ accountId, id }, amount) => void connection.prepare(RAISE_HOLD).run(amount, accountId, id),
    setEstimate: (estimate) => setEstimate(connection, estimate),
    readCharged: (ref) => readCharged(connection, ref),
    insertCompletion(record) {
      insertCompletion(connection, record)
      addToHours(hours, record)
    },
    correctCompletion(record, charged) {
      writeSums(connection, hours)
      replaceCompletion(connection, { ...record, createdAt: charged.createdAt }, charged)
    },
    saveAnswer: (kept, subjectId) => saveAnswer(connection, kept, { subjectId, now }),
    insertLedgerRow: (accountId, row) => insertLedgerRow(connection, accountId, row),
    readEntry: (ref) => readEntry(connection, ref),
    isCorrected: (ref) => isCorrected(connection, ref),
    insertEntryKey: (once, entry) => insertEntryKey(connection, once, entry),
    insertAlert: (accountId, alert) => insertAlert(connection, accountId, alert),
  }
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
returning key_id, amount_nano_usd, of_key_budget, ancestors`

const SELECT_HOLD = `select key_id, amount_nano_usd, of_key_budget, ancestors
from hold where account_id = ? and id = ?`

function holdOf(connection: ProgramConnection, sql: string, { accountId, id }: HoldKey): HoldState | undefined {
  const row = connection.prepare<HoldTable>(sql).get(accountId, id)
  if (row === undefined) return undefined
  const hold = { keyId: row.key_id, amount: row.amount_nano_usd, ofKeyBudget: row.of_key_budget === 1 }
  return row.ancestors === null ? hold : { ...hold, ancestors: parseAncestors(row.ancestors) }
}

const INSERT_HOLD = `insert into hold
  (account_id, id, key_id, instance_id, amount_nano_usd, of_key_budget, model, provider, stream, price_version,
   prompt_tokens, completion_tokens, estimate_nano_usd, created_at, client_request_id, ancestors)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?) on conflict do nothing`

function insertHold(connection: ProgramConnection, unit: HoldUnit, amount: NanoUsd): boolean {
  const inserted = connection
    .prepare(INSERT_HOLD)
    .run(
      unit.accountId,
      unit.id,
      unit.keyId,
      unit.instanceId,
      amount,
      unit.keyBudgetNanoUsd === undefined ? 0 : 1,
      unit.model,
      unit.provider,
      unit.stream ? 1 : 0,
      unit.priceVersion,
      unit.promptTokens,
      firstEstimate(unit),
      unit.createdAt,
      unit.clientRequestId ?? null,
      ancestorsText(heldAncestors(unit.ancestors)) ?? null,
    )
  return inserted === 1
}

const RAISE_HOLD = 'update hold set amount_nano_usd = ? where account_id = ? and id = ?'

const SET_ESTIMATE = `update hold set provider = ?, prompt_tokens = ?, completion_tokens = ?, estimate_nano_usd = ?
where account_id = ? and id = ?`

function setEstimate(connection: ProgramConnection, estimate: RunningEstimate): void {
  const { provider, promptTokens, completionTokens, costNanoUsd, accountId, id } = estimate
  connection.prepare(SET_ESTIMATE).run(provider, promptTokens, completionTokens, costNanoUsd, accountId, id)
}

/** Entries are looked for from the newest on: an estimate is seldom corrected long after it was charged. */
const SELECT_CHARGED = `select key_id, model, created_at, prompt_tokens, completion_tokens, cost_nano_usd,
  unbilled_nano_usd, status, usage_source
from completion where account_id = ? and id = ?`

const SELECT_CHARGE = `with recursive entry (number, created_at) as (
  select number, created_at from (select number, created_at from ledger
    where account_id = ?1 and completion_id = ?2 and kind = 'charge' and adjusts is null order by number desc limit 1)
  union all
  select ledger.number, entry.created_at from entry
    join ledger on ledger.account_id = ?1 and ledger.adjusts = entry.number
)
select number, created_at from entry order by number desc limit 1`

function readCharged(connection: ProgramConnection, { accountId, id }: HoldKey): PriorCharge | undefined {
  const row = connection.prepare<ChargedRow>(SELECT_CHARGED).get(accountId, id)
  if (row === undefined) return undefined
  if (!mayBeCorrected(row)) return priorCharge(row, undefined)
  const entry = connection.prepare<ChargeEntry>(SELECT_CHARGE).get(accountId, id)
  return priorCharge(row, entry && { number: entry.number, createdAt: entry.created_at })
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

const INSERT_LEDGER_ROW = `insert into ledger
  (account_id, number, kind, debit, credit, amount_nano_usd, balance_nano_usd, completion_id, key_id, price_version,
   adjusts, note, created_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

function insertLedgerRow(connection: ProgramConnection, accountId: AccountId, row: LedgerRow): void {
  connection
    .prepare(INSERT_LEDGER_ROW)
    .run(
      accountId,
      row.number,
      row.kind,
      row.debit,
      row.credit,
      row.amount,
      row.balance,
      row.completionId ?? null,
      row.keyId ?? null,
      row.priceVersion ?? null,
      row.adjusts ?? null,
      row.note ?? null,
      row.createdAt,
    )
}

const INSERT_ALERT = `insert into usage_alert
  (account_id, month, event, basis, threshold, spent_nano_usd, limit_nano_usd, created_at, told)
values (?, ?, ?, ?, ?, ?, ?, ?, 0) on conflict do nothing`

function insertAlert(connection: ProgramConnection, accountId: AccountId, alert: AlertRow): void {
  const { month, event, basis, threshold, spent, limit, createdAt } = alert
  connection.prepare(INSERT_ALERT).run(accountId, month, event, basis, threshold, spent, limit, createdAt)
}

const SELECT_ENTRY = `${ENTRY_OF_KEY} where asked.account_id = ? and asked.key = ?`

function readEntry(connection: ProgramConnection, { accountId, key }: EntryRef): KeyedEntry | undefined {
  const row = connection.prepare<EntryOfKeyRow>(SELECT_ENTRY).get(accountId, key)
  return row && keyedEntryOf(row)
}

const SELECT_CORRECTION = 'select 1 from ledger where account_id = ? and adjusts = ?'

function isCorrected(connection: ProgramConnection, { accountId, number }: RowRef): boolean {
  return connection.prepare(SELECT_CORRECTION).get(accountId, number) !== undefined
}

const INSERT_ENTRY_KEY = 'insert into ledger_entry_key (account_id, key, fingerprint, number) values (?, ?, ?, ?)'

function insertEntryKey(
  connection: ProgramConnection,
  { key, fingerprint }: EntryKey,
  { accountId, number }: LedgerEntry,
): void {
  connection.prepare(INSERT_ENTRY_KEY).run(accountId, key, fingerprint, number)
}

const SELECT_ACCOUNT = `select ${ACCOUNT_COLUMNS} from credit where account_id = ?`

function readAccount(connection: ProgramConnection, id: AccountId): AccountState | undefined {
  const row = connection.prepare<AccountRow>(SELECT_ACCOUNT).get(id)
  return row && accountState(row)
}

const SELECT_KEY = 'select month, spent_nano_usd, held_nano_usd from key_spending where account_id = ? and key_id = ?'

function readKey(connection: ProgramConnection, accountId: AccountId, id: KeyId): KeyState | undefined {
  const row = connection.prepare<KeySpendingTable>(SELECT_KEY).get(accountId, id)
  return row && { month: row.month, spent: row.spent_nano_usd, held: row.held_nano_usd }
}

/** Throws `WriteConflict` where the account or one of its keys changed since it was read, or does not cover its holds. */
function writeAccount(connection: ProgramConnection, account: LoadedAccount): void {
  if (account.state !== undefined && account.state !== account.read) moveAccount(connection, account, account.state)
  for (const key of account.keys.values()) {
    if (key.state !== undefined && key.state !== key.read) moveKey(connection, { account, key, to: key.state })
  }
}

const CREATE_ACCOUNT = `insert into credit
  (account_id, balance_nano_usd, held_nano_usd, allowance_nano_usd, month, granted_month, spent_nano_usd, entries,
   entered_at, monthly_budget_nano_usd, alert_thresholds, retired_nano_usd)
values (?, 0, 0, 0, 0, 0, 0, 0, 0, null, '${DEFAULT_THRESHOLDS_TEXT}', 0) on conflict do nothing`

/** One statement for all units of a batch: it holds only what is there, whatever was decided (LED-3). */
const MOVE_ACCOUNT = `update credit set
  balance_nano_usd = ?, held_nano_usd = ?, allowance_nano_usd = ?, month = ?, granted_month = ?, spent_nano_usd = ?,
  entries = ?, entered_at = ?, monthly_budget_nano_usd = ?, max_overrun_nano_usd = ?, alert_thresholds = ?
where account_id = ? and balance_nano_usd - held_nano_usd >= ?
  and entries = ? and balance_nano_usd = ? and held_nano_usd = ? and spent_nano_usd = ? and granted_month = ?
  and monthly_budget_nano_usd is ? and max_overrun_nano_usd is ? and alert_thresholds = ?`

function moveAccount(
  connection: ProgramConnection,
  { id, read, neededNanoUsd }: LoadedAccount,
  to: AccountState,
): void {
  if (read === undefined) connection.prepare(CREATE_ACCOUNT).run(id)
  const from = read ?? CREATED
  const moved = connection
    .prepare(MOVE_ACCOUNT)
    .run(
      to.balance,
      to.held,
      to.allowance,
      to.month,
      to.grantedMonth,
      to.spent,
      to.entries,
      to.enteredAt,
      to.monthlyBudget ?? null,
      to.maxOverrun ?? null,
      thresholdsText(to.thresholds),
      id,
      neededNanoUsd,
      from.entries,
      from.balance,
      from.held,
      from.spent,
      from.grantedMonth,
      from.monthlyBudget ?? null,
      from.maxOverrun ?? null,
      thresholdsText(from.thresholds),
    )
  if (moved !== 1)
    throw new WriteConflict(`The credit of ${id} changed since it was read, or does not cover its holds.`)
}

const CREATE_KEY = `insert into key_spending (account_id, key_id, month, spent_nano_usd, held_nano_usd)
values (?, ?, ?, ?, ?) on conflict do nothing`

const MOVE_KEY = `update key_spending set month = ?, spent_nano_usd = ?, held_nano_usd = ?
where account_id = ? and key_id = ? and month = ? and spent_nano_usd = ? and held_nano_usd = ?`

function moveKey(
  connection: ProgramConnection,
  { account, key, to }: { readonly account: LoadedAccount; readonly key: LoadedKey; readonly to: KeyState },
): void {
  const { id, read } = key
  const moved =
    read === undefined
      ? connection.prepare(CREATE_KEY).run(account.id, id, to.month, to.spent, to.held)
      : connection.prepare(MOVE_KEY).run(to.month, to.spent, to.held, account.id, id, read.month, read.spent, read.held)
  if (moved !== 1) throw new WriteConflict(`The spending of ${id} changed since it was read.`)
}
