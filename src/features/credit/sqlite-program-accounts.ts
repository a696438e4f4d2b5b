/**
 * What a batch knows of accounts and keys: read once, changed in memory unit by unit, written once at the end. What is
 * written is conditional on what was read, so that a decision on stale figures can change nothing.
 */
import type { ProgramConnection } from '../../db/program.ts'
import type { CreditTable, KeySpendingTable } from '../../db/schema.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { AccountState, KeyState } from './rules.ts'

/** Somebody else moved the account or key between reading and writing. Nothing may be committed. */
export class RaceLost extends Error {
  override readonly name = 'RaceLost'
}

export interface KnownKey {
  readonly id: KeyId
  readonly read: KeyState | undefined
  state: KeyState | undefined
}

export interface KnownAccount {
  readonly id: AccountId
  readonly read: AccountState | undefined
  state: AccountState | undefined
  /** What must have been available when the account was read, for all holds that were granted since to be covered. */
  neededNanoUsd: NanoUsd
  readonly keys: Map<KeyId, KnownKey>
}

const NOTHING_NEEDED = -(2n ** 62n)

const SELECT_ACCOUNT = `select balance_nano_usd, held_nano_usd, allowance_nano_usd, month, granted_month,
  spent_nano_usd, entries, entered_at, monthly_budget_nano_usd, alert_thresholds from credit where account_id = ?`

export function readAccount(connection: ProgramConnection, id: AccountId): KnownAccount {
  const row = connection.prepare<CreditTable>(SELECT_ACCOUNT).get(id)
  const state = row === undefined ? undefined : accountState(row)
  return { id, read: state, state, neededNanoUsd: NOTHING_NEEDED, keys: new Map() }
}

function accountState(row: CreditTable): AccountState {
  return {
    balance: row.balance_nano_usd,
    held: row.held_nano_usd,
    allowance: row.allowance_nano_usd,
    month: row.month,
    grantedMonth: row.granted_month,
    spent: row.spent_nano_usd,
    entries: row.entries,
    enteredAt: row.entered_at,
    monthlyBudget: row.monthly_budget_nano_usd ?? undefined,
    thresholds: parseThresholds(row.alert_thresholds),
  }
}

const DEFAULT_THRESHOLDS_TEXT = '[50,80,100]'
const DEFAULT_THRESHOLDS: readonly number[] = [50, 80, 100]

function parseThresholds(text: string): readonly number[] {
  if (text === DEFAULT_THRESHOLDS_TEXT) return DEFAULT_THRESHOLDS
  return JSON.parse(text) as number[] // written by `writeAccount` alone
}

const SELECT_KEY = 'select month, spent_nano_usd, held_nano_usd from key_spending where account_id = ? and key_id = ?'

/** Of an account's key; its state is undefined when nothing is kept of it. */
export function knownKey(connection: ProgramConnection, account: KnownAccount, id: KeyId): KnownKey {
  const known = account.keys.get(id)
  if (known !== undefined) return known
  const row = connection.prepare<KeySpendingTable>(SELECT_KEY).get(account.id, id)
  const state = row && { month: row.month, spent: row.spent_nano_usd, held: row.held_nano_usd }
  const key: KnownKey = { id, read: state, state }
  account.keys.set(id, key)
  return key
}

/** A hold of prepaid credit was granted, and is in the account's state: it must be covered in the database as well. */
export function needCredit(account: KnownAccount): void {
  const { read, state } = account
  if (state === undefined) return
  const availableThen = read === undefined ? 0n : read.balance - read.held
  const needed = availableThen - (state.balance - state.held)
  if (needed > account.neededNanoUsd) account.neededNanoUsd = needed
}

/** Throws `RaceLost` where the account or one of its keys is not as it was read, or does not cover what was held. */
export function writeAccount(connection: ProgramConnection, account: KnownAccount): void {
  if (account.state !== undefined && account.state !== account.read) moveAccount(connection, account, account.state)
  for (const key of account.keys.values()) {
    if (key.state !== undefined && key.state !== key.read) moveKey(connection, { account, key, to: key.state })
  }
}

const CREATE_ACCOUNT = `insert into credit
  (account_id, balance_nano_usd, held_nano_usd, allowance_nano_usd, month, granted_month, spent_nano_usd, entries,
   entered_at, monthly_budget_nano_usd, alert_thresholds, retired_nano_usd)
values (?, 0, 0, 0, 0, 0, 0, 0, 0, null, '${DEFAULT_THRESHOLDS_TEXT}', 0) on conflict do nothing`

const CREATED: AccountState = {
  balance: 0n,
  held: 0n,
  allowance: 0n,
  month: 0,
  grantedMonth: 0,
  spent: 0n,
  entries: 0,
  enteredAt: 0,
  monthlyBudget: undefined,
  thresholds: DEFAULT_THRESHOLDS,
}

/** One statement for all units of a batch: it holds only what is there, whatever was decided (LED-3). */
const MOVE_ACCOUNT = `update credit set
  balance_nano_usd = ?, held_nano_usd = ?, allowance_nano_usd = ?, month = ?, granted_month = ?, spent_nano_usd = ?,
  entries = ?, entered_at = ?, monthly_budget_nano_usd = ?, alert_thresholds = ?
where account_id = ? and balance_nano_usd - held_nano_usd >= ?
  and entries = ? and balance_nano_usd = ? and held_nano_usd = ? and spent_nano_usd = ? and granted_month = ?
  and monthly_budget_nano_usd is ? and alert_thresholds = ?`

function moveAccount(connection: ProgramConnection, { id, read, neededNanoUsd }: KnownAccount, to: AccountState): void {
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
      thresholdsText(to.thresholds),
      id,
      neededNanoUsd,
      from.entries,
      from.balance,
      from.held,
      from.spent,
      from.grantedMonth,
      from.monthlyBudget ?? null,
      thresholdsText(from.thresholds),
    )
  if (moved !== 1) throw new RaceLost(`The credit of ${id} is not as it was read, or does not cover what was held.`)
}

function thresholdsText(thresholds: readonly number[]): string {
  return thresholds === DEFAULT_THRESHOLDS ? DEFAULT_THRESHOLDS_TEXT : JSON.stringify(thresholds)
}

const CREATE_KEY = `insert into key_spending (account_id, key_id, month, spent_nano_usd, held_nano_usd)
values (?, ?, ?, ?, ?) on conflict do nothing`

const MOVE_KEY = `update key_spending set month = ?, spent_nano_usd = ?, held_nano_usd = ?
where account_id = ? and key_id = ? and month = ? and spent_nano_usd = ? and held_nano_usd = ?`

function moveKey(
  connection: ProgramConnection,
  { account, key, to }: { readonly account: KnownAccount; readonly key: KnownKey; readonly to: KeyState },
): void {
  const { id, read } = key
  const moved =
    read === undefined
      ? connection.prepare(CREATE_KEY).run(account.id, id, to.month, to.spent, to.held)
      : connection.prepare(MOVE_KEY).run(to.month, to.spent, to.held, account.id, id, read.month, read.spent, read.held)
  if (moved !== 1) throw new RaceLost(`The spending of ${id} is not as it was read.`)
}
