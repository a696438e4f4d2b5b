/** Carries units out on an open transaction: loads what each needs, asks the rules, writes what they say. */
import type { ProgramConnection } from '../../db/program.ts'
import type { HoldTable } from '../../db/schema.ts'
import type { KeptResult, RunningEstimate } from '../../domain/credit.ts'
import type { AccountId, CompletionId } from '../../domain/ids.ts'
import { chargeNanoUsd, type NanoUsd } from '../../domain/money.ts'
import { createUsageSums, insertCompletion, type UsageSums } from './completion-statements.ts'
import { monthNumber, monthStart } from './months.ts'
import { type Applied, applyUnit, type HoldState, type World } from './rules.ts'
import {
  type KnownAccount,
  type KnownKey,
  knownKey,
  needCredit,
  readAccount,
  writeAccount,
} from './sqlite-program-accounts.ts'
import { insertAlert, insertLedgerRow } from './sqlite-program-entries.ts'
import type { ExtendUnit, HoldUnit, Outcome, ReleaseUnit, SettleUnit, Unit } from './unit.ts'

const DAY_MS = 86_400_000
const NO_CREDIT = 0n

/** What is known and not yet written while a batch is carried out. */
interface Work {
  readonly connection: ProgramConnection
  /** Unix milliseconds. */
  readonly now: number
  readonly accounts: Map<AccountId, KnownAccount>
  readonly sums: UsageSums
}

const DONE: Outcome = { kind: 'done' }
const ALREADY: Outcome = { kind: 'already' }

/** Throws at the first unit that the database refuses; then nothing of the transaction may be committed. */
export function carryOut(connection: ProgramConnection, units: readonly Unit[], now: number): Outcome[] {
  const work: Work = { connection, now, accounts: new Map(), sums: createUsageSums(connection) }
  const outcomes: Outcome[] = []
  for (const unit of units) outcomes.push(perform(work, unit))
  for (const account of work.accounts.values()) writeAccount(connection, account)
  work.sums.write()
  return outcomes
}

function perform(work: Work, unit: Unit): Outcome {
  switch (unit.kind) {
    case 'hold':
      return performHold(work, unit)
    case 'settle':
      return performSettle(work, unit)
    case 'release':
      return performRelease(work, unit)
    case 'extend':
      return performExtend(work, unit)
    case 'estimates':
      for (const estimate of unit.estimates) noteEstimate(work.connection, estimate)
      return DONE
    case 'entry':
    case 'touch':
    case 'settings': {
      const account = knownAccount(work, unit.accountId)
      const keyId = unit.kind === 'entry' ? unit.entry.adjusts?.keyId : undefined
      const key = keyId && knownKey(work.connection, account, keyId)
      return take(work, { account, key }, applyUnit(unit, worldOf({ account, key }), work.now))
    }
  }
}

interface Known {
  readonly account: KnownAccount
  readonly key?: KnownKey | undefined
  readonly hold?: HoldState | undefined
  readonly settled?: boolean
  readonly keySpentBefore?: NanoUsd
}

function worldOf({ account, key, hold, settled = false, keySpentBefore = NO_CREDIT }: Known): World {
  return { account: account.state, key: key?.state, hold, settled, keySpentBefore }
}

/** Makes what the rules said the state of things, and writes the rows that come of it. */
function take({ connection }: Work, { account, key }: Known, applied: Applied): Outcome {
  if (applied.account !== undefined) account.state = applied.account
  if (applied.key !== undefined && key !== undefined) key.state = applied.key
  for (const row of applied.rows) insertLedgerRow(connection, account.id, row)
  for (const alert of applied.alerts) insertAlert(connection, account.id, alert)
  return applied.outcome
}

function knownAccount({ connection, accounts }: Work, id: AccountId): KnownAccount {
  let account = accounts.get(id)
  if (account === undefined) {
    account = readAccount(connection, id)
    accounts.set(id, account)
  }
  return account
}

function performHold(work: Work, unit: HoldUnit): Outcome {
  const { connection, now } = work
  const account = knownAccount(work, unit.accountId)
  const key = unit.keyBudgetNanoUsd === undefined ? undefined : knownKey(connection, account, unit.keyId)
  const keySpentBefore = key !== undefined && key.state === undefined ? spentBefore(work, unit) : NO_CREDIT
  const applied = applyUnit(unit, worldOf({ account, key, keySpentBefore }), now)
  const { hold } = applied
  if (hold === undefined || hold === 'ended') {
    return holdOf(connection, SELECT_HOLD, unit) === undefined ? take(work, { account, key }, applied) : ALREADY
  }
  if (!insertHold(connection, unit, hold.amount)) return ALREADY
  take(work, { account, key }, applied)
  if (unit.terms.billing === 'prepaid' && hold.amount > 0n) needCredit(account)
  return applied.outcome
}

const INSERT_HOLD = `insert into hold
  (account_id, id, key_id, instance_id, amount_nano_usd, of_key_budget, model, provider, stream, price_version,
   prompt_tokens, completion_tokens, estimate_nano_usd, created_at, client_request_id)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?) on conflict do nothing`

/** The first estimate is that the provider reads the prompt and is not heard of again. */
function insertHold(connection: ProgramConnection, unit: HoldUnit, amount: NanoUsd): boolean {
  const prompt = { prompt: unit.promptTokens, completion: 0 }
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
      chargeNanoUsd(prompt, { inputMicroUsd: unit.inputPrice, outputMicroUsd: unit.outputPrice }),
      unit.createdAt,
      unit.clientRequestId ?? null,
    )
  return inserted === 1
}

const SPENT_BEFORE = `select coalesce(sum(cost_nano_usd), 0) as cost_nano_usd from usage_rollup
where account_id = ? and day >= ? and key_id = ?`

/** Of a key whose budget is new: what it has come to this month, this batch included. */
function spentBefore({ connection, now, sums }: Work, { accountId, keyId }: HoldUnit): NanoUsd {
  sums.write()
  const firstDay = Math.floor(monthStart(monthNumber(now)) / DAY_MS)
  const row = connection.prepare<{ cost_nano_usd: NanoUsd }>(SPENT_BEFORE).get(accountId, firstDay, keyId)
  return row?.cost_nano_usd ?? NO_CREDIT
}

/** Taking the row is what resolves a hold, once (LED-6): whoever comes later finds none. */
const TAKE_HOLD = `delete from hold where account_id = ? and id = ?
returning key_id, amount_nano_usd, of_key_budget`

const SELECT_HOLD = 'select key_id, amount_nano_usd, of_key_budget from hold where account_id = ? and id = ?'

interface HoldPlace {
  readonly accountId: AccountId
  readonly id: CompletionId
}

function holdOf(connection: ProgramConnection, sql: string, { accountId, id }: HoldPlace): HoldState | undefined {
  const row = connection.prepare<HoldTable>(sql).get(accountId, id)
  if (row === undefined) return undefined
  return { keyId: row.key_id, amount: row.amount_nano_usd, ofKeyBudget: row.of_key_budget === 1 }
}

function performSettle(work: Work, unit: SettleUnit): Outcome {
  const { connection, now, sums } = work
  const { record, kept } = unit
  const account = knownAccount(work, record.accountId)
  const hold = holdOf(connection, TAKE_HOLD, record)
  const settled = hold === undefined && isSettled(connection, record)
  const key = knownKey(connection, account, hold?.keyId ?? record.keyId)
  const applied = applyUnit(unit, worldOf({ account, key, hold, settled }), now)
  assertEnded(hold, applied)
  if (applied.completion) {
    insertCompletion(connection, record)
    sums.add(record)
    if (kept !== undefined) keepAnswer(connection, kept, { subjectId: record.id, now })
  }
  return take(work, { account, key }, applied)
}

function performRelease(work: Work, unit: ReleaseUnit): Outcome {
  const hold = holdOf(work.connection, TAKE_HOLD, unit)
  if (hold === undefined) return ALREADY
  const account = knownAccount(work, unit.accountId)
  const key = hold.ofKeyBudget ? knownKey(work.connection, account, hold.keyId) : undefined
  const applied = applyUnit(unit, worldOf({ account, key, hold }), work.now)
  assertEnded(hold, applied)
  return take(work, { account, key }, applied)
}

const RAISE_HOLD = 'update hold set amount_nano_usd = ? where account_id = ? and id = ?'

function performExtend(work: Work, unit: ExtendUnit): Outcome {
  const { connection, now } = work
  const hold = holdOf(connection, SELECT_HOLD, unit)
  if (hold === undefined) return ALREADY
  const account = knownAccount(work, unit.accountId)
  const key = hold.ofKeyBudget ? knownKey(connection, account, hold.keyId) : undefined
  const applied = applyUnit(unit, worldOf({ account, key, hold }), now)
  const outcome = take(work, { account, key }, applied)
  const raised = applied.hold
  if (raised === undefined || raised === 'ended' || raised.amount === hold.amount) return outcome
  connection.prepare(RAISE_HOLD).run(raised.amount, unit.accountId, unit.id)
  if (unit.terms.billing === 'prepaid') needCredit(account)
  return outcome
}

/** The row of the hold is gone by now: rules that left it open would lose what it holds. */
function assertEnded(hold: HoldState | undefined, applied: Applied): void {
  if (hold !== undefined && applied.hold !== 'ended') throw new Error('A hold was taken and not resolved.')
}

const SELECT_COMPLETION = 'select 1 as found from completion where account_id = ? and id = ?'

function isSettled(connection: ProgramConnection, { accountId, id }: HoldPlace): boolean {
  return connection.prepare(SELECT_COMPLETION).get(accountId, id) !== undefined
}

const NOTE_ESTIMATE = `update hold set provider = ?, prompt_tokens = ?, completion_tokens = ?, estimate_nano_usd = ?
where account_id = ? and id = ?`

function noteEstimate(connection: ProgramConnection, estimate: RunningEstimate): void {
  const { provider, promptTokens, completionTokens, costNanoUsd, accountId, id } = estimate
  connection.prepare(NOTE_ESTIMATE).run(provider, promptTokens, completionTokens, costNanoUsd, accountId, id)
}

/** Only for the request that was charged: one that lost its key to another must not answer for it. */
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
