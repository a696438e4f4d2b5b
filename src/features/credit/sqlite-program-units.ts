/** Carries units out on an open transaction of SQLite: each row is read when it is asked for and written at once. */
import type { ProgramConnection } from '../../db/program.ts'
import type { HoldTable } from '../../db/schema.ts'
import type { KeptResult, RunningEstimate } from '../../domain/credit.ts'
import type { CompletionId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { carryOut, firstEstimate, type HoldPlace, type KeyPlace, type LedgerTransaction } from './carry-out.ts'
import { type ChargedRow, type ChargeEntry, mayBeCorrected, priorCharge } from './charged-row.ts'
import { insertCompletion, replaceCompletion, writeSums } from './completion-statements.ts'
import type { HoldState, PriorCharge } from './rules.ts'
import { readAccount, readKey, writeAccount } from './sqlite-program-accounts.ts'
import { insertAlert, insertEntryKey, insertLedgerRow, readEntry } from './sqlite-program-entries.ts'
import type { HoldUnit, Outcome, Unit } from './unit.ts'
import { addToHours, type UsageSums } from './usage-sums.ts'

/** Throws at the first unit that the database refuses; then nothing of the transaction may be committed. */
export function carryOutUnits(connection: ProgramConnection, units: readonly Unit[], now: number): readonly Outcome[] {
  const hours: UsageSums = new Map()
  const { outcomes, accounts } = carryOut(transactionOn(connection, hours, now), units)
  for (const account of accounts.values()) writeAccount(connection, account)
  writeSums(connection, hours)
  return outcomes
}

function transactionOn(connection: ProgramConnection, hours: UsageSums, now: number): LedgerTransaction {
  return {
    now,
    readAccount: (id) => readAccount(connection, id),
    readKey: (accountId, keyId) => readKey(connection, accountId, keyId),
    costSince(place, day) {
      writeSums(connection, hours)
      return costSince(connection, place, day)
    },
    readHold: (place) => holdOf(connection, SELECT_HOLD, place),
    takeHold: (place) => holdOf(connection, TAKE_HOLD, place),
    insertHold: (unit, amount) => insertHold(connection, unit, amount),
    raiseHold: ({ accountId, id }, amount) => void connection.prepare(RAISE_HOLD).run(amount, accountId, id),
    noteEstimate: (estimate) => noteEstimate(connection, estimate),
    readCharged: (place) => readCharged(connection, place),
    insertCompletion(record) {
      insertCompletion(connection, record)
      addToHours(hours, record)
    },
    correctCompletion(record, charged) {
      writeSums(connection, hours)
      replaceCompletion(connection, { ...record, createdAt: charged.createdAt }, charged)
    },
    keepAnswer: (kept, subjectId) => keepAnswer(connection, kept, { subjectId, now }),
    insertLedgerRow: (accountId, row) => insertLedgerRow(connection, accountId, row),
    readEntry: (place) => readEntry(connection, place),
    insertEntryKey: (once, entry) => insertEntryKey(connection, once, entry),
    insertAlert: (accountId, alert) => insertAlert(connection, accountId, alert),
  }
}

const COST_SINCE = `select coalesce(sum(cost_nano_usd), 0) as cost_nano_usd from usage_rollup
where account_id = ? and day >= ? and key_id = ?`

function costSince(connection: ProgramConnection, { accountId, keyId }: KeyPlace, day: number): NanoUsd {
  const row = connection.prepare<{ cost_nano_usd: NanoUsd }>(COST_SINCE).get(accountId, day, keyId)
  return row?.cost_nano_usd ?? 0n
}

const TAKE_HOLD = `delete from hold where account_id = ? and id = ?
returning key_id, amount_nano_usd, of_key_budget`

const SELECT_HOLD = 'select key_id, amount_nano_usd, of_key_budget from hold where account_id = ? and id = ?'

function holdOf(connection: ProgramConnection, sql: string, { accountId, id }: HoldPlace): HoldState | undefined {
  const row = connection.prepare<HoldTable>(sql).get(accountId, id)
  if (row === undefined) return undefined
  return { keyId: row.key_id, amount: row.amount_nano_usd, ofKeyBudget: row.of_key_budget === 1 }
}

const INSERT_HOLD = `insert into hold
  (account_id, id, key_id, instance_id, amount_nano_usd, of_key_budget, model, provider, stream, price_version,
   prompt_tokens, completion_tokens, estimate_nano_usd, created_at, client_request_id)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?) on conflict do nothing`

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
    )
  return inserted === 1
}

const RAISE_HOLD = 'update hold set amount_nano_usd = ? where account_id = ? and id = ?'

const NOTE_ESTIMATE = `update hold set provider = ?, prompt_tokens = ?, completion_tokens = ?, estimate_nano_usd = ?
where account_id = ? and id = ?`

function noteEstimate(connection: ProgramConnection, estimate: RunningEstimate): void {
  const { provider, promptTokens, completionTokens, costNanoUsd, accountId, id } = estimate
  connection.prepare(NOTE_ESTIMATE).run(provider, promptTokens, completionTokens, costNanoUsd, accountId, id)
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

function readCharged(connection: ProgramConnection, { accountId, id }: HoldPlace): PriorCharge | undefined {
  const row = connection.prepare<ChargedRow>(SELECT_CHARGED).get(accountId, id)
  if (row === undefined) return undefined
  if (!mayBeCorrected(row)) return priorCharge(row, undefined)
  const entry = connection.prepare<ChargeEntry>(SELECT_CHARGE).get(accountId, id)
  return priorCharge(row, entry && { number: entry.number, createdAt: entry.created_at })
}

const KEEP_ANSWER = `update idempotency set state = ?, status = ?, headers = ?, body = ?, ended_at = ?
where account_id = ? and endpoint = ? and key = ? and subject_id = ? and state = 'running'`

function keepAnswer(
  connection: ProgramConnection,
  { accountId, endpoint, key, answer }: KeptResult,
  { subjectId, now }: { readonly subjectId: CompletionId; readonly now: number },
): void {
  connection
    .prepare(KEEP_ANSWER)
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
