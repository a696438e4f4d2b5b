/**
 * A ledger in memory that carries units of money out by the rules, and what must hold of it after every one of them. It
 * refuses what a database's keys refuse, and nothing more.
 */
import assert from 'node:assert/strict'
import type { CompletionRecord } from '../../../src/domain/completion.ts'
import type { AccountId, CompletionId, KeyId } from '../../../src/domain/ids.ts'
import type { NanoUsd } from '../../../src/domain/money.ts'
import { chargeNanoUsd } from '../../../src/domain/price/price.ts'
import { LATE_SETTLEMENT } from '../../../src/features/credit/ledger/movements.ts'
import { applyUnit } from '../../../src/features/credit/ledger/rules.ts'
import type {
  AccountState,
  AlertRow,
  Applied,
  HoldState,
  KeyState,
  LedgerRow,
  Snapshot,
} from '../../../src/features/credit/ledger/state.ts'
import type { HoldUnit, Outcome, PlanTerms, SettleUnit, Unit } from '../../../src/features/credit/ledger/unit.ts'
import { monthNumber } from '../../../src/lib/time.ts'
import { type MemoryBudgets, memoryBudgets, readBudgets, writeBudgets } from './memory-budgets.ts'

export type AppliedUnit = Exclude<Unit, { kind: 'estimates' }>

export interface OpenHold extends HoldState {
  readonly accountId: AccountId
  readonly instanceId: string
}

/** A row and the month of the account in which it counted. */
export interface EnteredRow extends LedgerRow {
  readonly month: number
}

export interface MemoryLedger {
  readonly accounts: Map<AccountId, AccountState>
  readonly keys: Map<KeyId, KeyState>
  readonly holds: Map<CompletionId, OpenHold>
  readonly rows: Map<AccountId, EnteredRow[]>
  readonly completions: Map<CompletionId, CompletionRecord>
  readonly alerts: Map<string, AlertRow>
  readonly budgets: MemoryBudgets
  /** What has happened that an alert tells, by the alert's name. */
  readonly facts: Map<string, Omit<AlertRow, 'createdAt'>>
}

export const ACCOUNT = 'acc_1' as AccountId
export const KEY = 'key_1' as KeyId
export const PREPAID: PlanTerms = { billing: 'prepaid', monthlyCreditNanoUsd: 0n }
export const POSTPAID: PlanTerms = { billing: 'postpaid', monthlyCreditNanoUsd: 0n }
export const completionId = (name: string | number): CompletionId => `chatcmpl-${name}` as CompletionId

export function memoryLedger(): MemoryLedger {
  return {
    accounts: new Map(),
    keys: new Map(),
    holds: new Map(),
    rows: new Map(),
    completions: new Map(),
    alerts: new Map(),
    budgets: memoryBudgets(),
    facts: new Map(),
  }
}

/** One transaction. */
export function applyBatch(ledger: MemoryLedger, unit: AppliedUnit, now: number): Outcome {
  return write(ledger, unit, applyUnit(unit, worldOf(ledger, unit, now), now))
}

export function worldOf(ledger: MemoryLedger, unit: AppliedUnit, now: number): Snapshot {
  const accountId = accountOf(unit)
  const account = ledger.accounts.get(accountId)
  const id = completionOf(unit)
  const hold = id === undefined ? undefined : ledger.holds.get(id)
  const keyId = hold?.keyId ?? keyOf(unit)
  const month = Math.max(account?.month ?? 0, monthNumber(now))
  const charged = id === undefined ? undefined : priorChargeOf(ledger, id)
  return {
    account,
    key: keyId === undefined ? undefined : ledger.keys.get(keyId),
    budgets: readBudgets(ledger.budgets, unit, { accountId, hold, charged, now }),
    hold,
    charged,
    keySpentBefore: keyId === undefined ? 0n : chargedTo(rowsOf(ledger, accountId), keyId, month),
  }
}

function priorChargeOf(ledger: MemoryLedger, id: CompletionId): Snapshot['charged'] {
  const record = ledger.completions.get(id)
  if (record === undefined) return undefined
  const rows = rowsOf(ledger, record.accountId)
  const charge = rows.find(({ completionId, adjusts }) => completionId === id && adjusts === undefined)
  let last = charge
  for (let next = charge; next !== undefined; next = rows.find(({ adjusts }) => adjusts === next?.number)) last = next
  return {
    ...record,
    entry: charge && last && { number: last.number, createdAt: charge.createdAt, budgets: charge.budgets },
  }
}

/** What a unit came to is written as a whole, or not at all where a key refuses it. */
export function write(ledger: MemoryLedger, unit: AppliedUnit, applied: Applied): Outcome {
  const accountId = accountOf(unit)
  const held = ledger.holds.get(completionOf(unit) ?? completionId(''))?.amount ?? 0n
  if (applied.completion !== undefined && applied.corrects === undefined) {
    const record = applied.completion
    if (ledger.completions.has(record.id)) return { kind: 'failed', message: 'unique: completion' }
    ledger.completions.set(record.id, record)
  }
  if (applied.corrects !== undefined && applied.completion !== undefined) {
    const { completion, corrects } = applied
    ledger.completions.set(completion.id, { ...completion, createdAt: corrects.createdAt })
  }
  if (applied.account !== undefined) ledger.accounts.set(accountId, Object.freeze(applied.account))
  writeHold(ledger, unit, applied)
  writeBudgets(ledger.budgets, applied.budgets)
  const month = ledger.accounts.get(accountId)?.month ?? 0
  const rows = rowsOf(ledger, accountId)
  for (const row of applied.rows) rows.push(Object.freeze({ ...row, month }))
  ledger.rows.set(accountId, rows)
  for (const alert of applied.alerts) addOnce(ledger.alerts, nameOfAlert(accountId, alert), Object.freeze(alert))
  for (const fact of factsOf(ledger, { unit, applied, held })) addOnce(ledger.facts, nameOfAlert(accountId, fact), fact)
  return applied.outcome
}

/** As the key of the table says. */
export function nameOfAlert(accountId: AccountId, alert: Omit<AlertRow, 'createdAt'>): string {
  return [accountId, alert.month, alert.event, alert.basis, alert.threshold].join(' ')
}

function addOnce<Value>(map: Map<string, Value>, name: string, value: Value): void {
  if (!map.has(name)) map.set(name, value)
}

interface Written {
  readonly unit: AppliedUnit
  readonly applied: Applied
  /** Of the unit's hold, before it. */
  readonly held: NanoUsd
}

type Fact = MemoryLedger['facts'] extends Map<string, infer Value> ? Value : never

/** Said of rows, settings and refusals alone, whatever the rules say of alerts. */
function* factsOf(ledger: MemoryLedger, written: Written): Iterable<Fact> {
  const { unit, applied } = written
  const account = ledger.accounts.get(accountOf(unit))
  if (account === undefined || !('terms' in unit)) return
  const { month, spent, balance, thresholds, monthlyBudget } = account
  const ofBudget = { month, basis: 'budget', spent, limit: monthlyBudget ?? 0n } as const
  const ofCredit = { month, basis: 'credit', spent, limit: balance + spent } as const
  const ofAlerts = monthlyBudget === undefined ? ofCredit : ofBudget
  const isPrepaid = unit.terms.billing === 'prepaid'
  const alerted = isPrepaid || monthlyBudget !== undefined ? thresholds : []
  for (const threshold of unit.kind === 'settings' ? alerted : [])
    if (percentReached(ofAlerts, threshold, spent) && !percentReached(ofAlerts, threshold, 0n))
      yield { ...ofAlerts, event: 'usage.alert', threshold }
  for (const { kind, amount } of applied.rows) {
    if (kind !== 'charge') continue
    for (const threshold of alerted)
      if (percentReached(ofAlerts, threshold, spent) && !percentReached(ofAlerts, threshold, spent - amount))
        yield { ...ofAlerts, event: 'usage.alert', threshold }
    if (isPrepaid && balance <= 0n && balance + amount > 0n)
      yield { ...ofCredit, event: 'credit.exhausted', threshold: 100 }
  }
  const { outcome } = applied
  if (outcome.kind !== 'refused' || outcome.scope === 'key_budget' || outcome.budget !== undefined) return
  const refused = outcome.scope === 'credit' ? ofCredit : ofBudget
  if (refused.limit <= 0n || leastOf(written) <= refused.limit - spent) return
  if (thresholds.includes(100)) yield { ...refused, event: 'usage.alert', threshold: 100 }
  if (outcome.scope === 'credit') yield { ...ofCredit, event: 'credit.exhausted', threshold: 100 }
}

function percentReached({ limit }: Pick<AlertRow, 'limit'>, threshold: number, spent: NanoUsd): boolean {
  return 100n * spent >= limit * BigInt(threshold)
}

/** What an answer of 256 tokens would have cost, or all that a stream that goes on had to hold. */
function leastOf({ unit, held }: Written): NanoUsd {
  if (unit.kind === 'extend') return held + unit.nanoUsd
  if (unit.kind !== 'hold') return 0n
  const { promptTokens: prompt, choices, inputPrice: inputMicroUsd, outputPrice: outputMicroUsd, fixedNanoUsd } = unit
  const completion = Math.min(256, unit.outputTokens) * choices
  return chargeNanoUsd({ prompt, completion }, { inputMicroUsd, outputMicroUsd }) + BigInt(fixedNanoUsd)
}

function writeHold(ledger: MemoryLedger, unit: AppliedUnit, applied: Applied): void {
  const id = completionOf(unit)
  const known = id === undefined ? undefined : ledger.holds.get(id)
  const keyId = known?.keyId ?? keyOf(unit)
  if (applied.key !== undefined && keyId !== undefined) ledger.keys.set(keyId, Object.freeze(applied.key))
  if (id === undefined || applied.hold === undefined) return
  if (applied.hold === 'ended') ledger.holds.delete(id)
  else {
    const instanceId = unit.kind === 'hold' ? unit.instanceId : (known?.instanceId ?? '')
    ledger.holds.set(id, Object.freeze({ ...applied.hold, accountId: accountOf(unit), instanceId }))
  }
}

export function rowsOf(ledger: MemoryLedger, accountId: AccountId): EnteredRow[] {
  return ledger.rows.get(accountId) ?? []
}

export function accountOf(unit: AppliedUnit): AccountId {
  return unit.kind === 'settle' ? unit.record.accountId : unit.accountId
}

export function completionOf(unit: AppliedUnit): CompletionId | undefined {
  if (unit.kind === 'settle') return unit.record.id
  return unit.kind === 'hold' || unit.kind === 'release' || unit.kind === 'extend' ? unit.id : undefined
}

function keyOf(unit: AppliedUnit): KeyId | undefined {
  if (unit.kind === 'settle') return unit.record.keyId
  if (unit.kind === 'entry') return unit.entry.adjusts?.keyId
  return unit.kind === 'hold' ? unit.keyId : undefined
}

function chargedTo(rows: readonly EnteredRow[], keyId: KeyId, month: number): NanoUsd {
  let sum = 0n
  for (const row of rows) if (row.keyId === keyId && row.month === month) sum += spentBy(row, rows)
  return sum
}

/** What an entry adds to what is spent in its month: a late settlement takes back what an estimate had added in the same. */
function spentBy({ kind, amount, note, adjusts, month }: EnteredRow, rows: readonly EnteredRow[]): NanoUsd {
  if (kind === 'charge') return amount
  let corrected = note === LATE_SETTLEMENT && adjusts !== undefined ? rows[adjusts - 1] : undefined
  while (corrected?.adjusts !== undefined) corrected = rows[corrected.adjusts - 1]
  return corrected !== undefined && monthNumber(corrected.createdAt) === month ? -amount : 0n
}

/** INV-1, INV-2, INV-4, INV-6, INV-9 and INV-14 of everything that is there, and its alerts. Throws for the first that is broken. */
export function checkLedger(ledger: MemoryLedger): void {
  for (const [accountId, state] of ledger.accounts) {
    checkBooks(rowsOf(ledger, accountId), state)
    checkReplay(rowsOf(ledger, accountId), state)
    checkCharges(ledger, accountId)
    const held = sum([...ledger.holds.values()].filter((hold) => hold.accountId === accountId))
    assert.equal(state.held, held, 'INV-6: held is the sum of the open holds')
  }
  for (const [keyId, state] of ledger.keys) checkKey(ledger, keyId, state)
  checkAlerts(ledger)
}

/** One alert for each fact and month, with the figures of the first time; none without its fact, none left out. */
function checkAlerts({ alerts, facts }: MemoryLedger): void {
  for (const [name, { spent, limit }] of facts) {
    const alert = alerts.get(name)
    assert.ok(alert, `ALERT: ${name} was not told`)
    assert.ok(alert.spent === spent && alert.limit === limit, `ALERT: ${name} has the figures of its fact`)
  }
  assert.equal(alerts.size, facts.size, 'ALERT: nothing is told that has not happened')
}

function checkBooks(rows: readonly EnteredRow[], { balance, allowance }: AccountState): void {
  const books = new Map<string, NanoUsd>()
  for (const { debit, credit, amount } of rows) {
    assert.ok(amount > 0n)
    books.set(debit, (books.get(debit) ?? 0n) - amount)
    books.set(credit, (books.get(credit) ?? 0n) + amount)
  }
  assert.equal(books.get('credit') ?? 0n, balance, 'INV-1: the balance is the sum of the ledger')
  let total = 0n
  for (const amount of books.values()) total += amount
  assert.equal(total, 0n, 'INV-1: all books together are zero')
  assert.ok((books.get('grants') ?? 0n) <= 0n, 'no more expires than was granted')
  assert.ok(allowance >= 0n && (allowance === 0n || allowance <= balance), 'what may expire is there')
}

/** From nothing, row by row. */
function checkReplay(rows: readonly EnteredRow[], state: AccountState): void {
  let balance = 0n
  let at = 0
  let spent = 0n
  const granted = new Set<number>()
  rows.forEach((row, index) => {
    balance += row.credit === 'credit' ? row.amount : -row.amount
    assert.equal(row.number, index + 1, 'INV-9: numbered without gaps')
    assert.equal(row.balance, balance, 'INV-2: the balance after each row')
    assert.ok(row.createdAt >= at, 'INV-9: time does not go back')
    at = row.createdAt
    if (row.month === state.month) spent += spentBy(row, rows)
    if (row.note !== 'monthly allowance') return
    assert.ok(!granted.has(row.month), 'a month is granted once')
    granted.add(row.month)
  })
  assert.deepEqual([state.entries, state.enteredAt, state.spent], [rows.length, at, spent], 'INV-2: replay')
}

/** Every charge of a request is its completion's cost, once; every completion that cost something is charged. */
function checkCharges(ledger: MemoryLedger, accountId: AccountId): void {
  const charged = new Map<CompletionId, NanoUsd>()
  for (const row of rowsOf(ledger, accountId)) {
    if (row.kind !== 'charge' && row.note !== LATE_SETTLEMENT) continue
    assert.ok(row.completionId && row.keyId && row.priceVersion, 'INV-14: whose, for what, at which price')
    if (row.note === LATE_SETTLEMENT) {
      const more = row.kind === 'charge' ? row.amount : -row.amount
      charged.set(row.completionId, (charged.get(row.completionId) ?? 0n) + more)
    }
    if (row.adjusts !== undefined) continue
    assert.ok(!charged.has(row.completionId), 'INV-4: charged twice')
    charged.set(row.completionId, row.amount)
    const record = ledger.completions.get(row.completionId)
    assert.deepEqual([record?.keyId, record?.priceVersion], [row.keyId, row.priceVersion], 'INV-14: attribution')
  }
  for (const record of ledger.completions.values()) {
    if (record.accountId !== accountId) continue
    assert.equal(charged.get(record.id) ?? 0n, record.costNanoUsd, 'INV-4: the charge is the cost')
  }
}

function checkKey(ledger: MemoryLedger, keyId: KeyId, { month, spent, held }: KeyState): void {
  const holds = [...ledger.holds.values()].filter((hold) => hold.keyId === keyId && hold.ofKeyBudget)
  assert.equal(held, sum(holds), 'INV-6: what a key holds is the sum of its open holds')
  let charged = 0n
  for (const rows of ledger.rows.values()) charged += chargedTo(rows, keyId, month)
  assert.equal(spent, charged, 'INV-14: what a key has spent is the sum of its charges')
}

function sum(holds: readonly OpenHold[]): NanoUsd {
  return holds.reduce((total, { amount }) => total + amount, 0n)
}

/** Asks for `outputTokens` nano-dollars: its input is free and an output token costs one. */
export function holdUnit(changes: Partial<HoldUnit> = {}): HoldUnit {
  return {
    kind: 'hold',
    accountId: ACCOUNT,
    keyId: KEY,
    id: completionId(1),
    terms: PREPAID,
    keyBudgetNanoUsd: undefined,
    instanceId: 'ins_1',
    promptTokens: 0,
    outputTokens: 100,
    choices: 1,
    flexible: false,
    tentative: false,
    inputPrice: 0,
    outputPrice: 1000,
    fixedNanoUsd: 0,
    model: 'model',
    provider: 'provider',
    stream: false,
    priceVersion: 'price_1',
    createdAt: 0,
    clientRequestId: undefined,
    ...changes,
  }
}

export function settleUnit(record: Partial<CompletionRecord>, changes: Partial<SettleUnit> = {}): SettleUnit {
  const unit = { unrecorded: false, terms: PREPAID, kept: undefined, ...changes }
  return { ...unit, kind: 'settle', record: { ...RECORD, ...record } }
}

const RECORD: CompletionRecord = {
  id: completionId(1),
  accountId: ACCOUNT,
  keyId: KEY,
  model: 'model',
  provider: 'provider',
  status: 'completed',
  stream: false,
  finishReason: 'stop',
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costNanoUsd: 0n,
  priceVersion: 'price_1',
  usageSource: 'provider',
  createdAt: 0,
  durationMs: 0,
  firstByteMs: undefined,
  attempts: 1,
  attemptLog: undefined,
  clientRequestId: undefined,
}
