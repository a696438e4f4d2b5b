/** The columns of the ledger's tables that both databases write, and the mapping from rows to states. */
import { createHash } from 'node:crypto'
import type { Insertable, Selectable } from 'kysely'
import type {
  BudgetTable,
  CompletionTable,
  CreditTable,
  KeySpendingTable,
  LedgerEntryKeyTable,
  LedgerTable,
} from '../../../db/schema/schema.ts'
import { tagsText } from '../../../domain/attribution.ts'
import { attemptLogText, type CompletionRecord } from '../../../domain/completion.ts'
import { DEFAULT_ALERT_THRESHOLDS } from '../../../domain/credit.ts'
import type { AccountId, BudgetId, KeyId } from '../../../domain/ids.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import { chargeNanoUsd, usageDetailText } from '../../../domain/price/price.ts'
import { canonicalJson } from '../../../lib/json.ts'
import type { KnownBudget } from './batch-budgets.ts'
import type { UsageSum } from './rollups.ts'
import {
  type AccountState,
  type AlertRow,
  type BudgetAlertRow,
  type BudgetWindowRef,
  CREATED,
  type HeldAncestor,
  type HoldState,
  heldAncestors,
  type KeyState,
  type LedgerRow,
  type PriorCharge,
} from './state.ts'
import type { EntryKey, HoldUnit, KeyedEntry, LedgerEntry, NewEntry } from './unit.ts'

const DEFAULT_THRESHOLDS_TEXT = JSON.stringify(DEFAULT_ALERT_THRESHOLDS)

/** A column and the source of its value. Undefined becomes null, true 1 and false 0. */
export interface Column<Row> {
  readonly name: string
  readonly type: 'text' | 'bigint'
  readonly value: (row: Row) => ColumnValue
}
export type ColumnValue = Text | Whole
type Text = string | null | undefined
type Whole = number | bigint | boolean | null | undefined

export function text<Row>(name: string, value: (row: Row) => Text): Column<Row> {
  return { name, type: 'text', value }
}

export function whole<Row>(name: string, value: (row: Row) => Whole): Column<Row> {
  return { name, type: 'bigint', value }
}

export function namesOf(columns: readonly Pick<Column<never>, 'name'>[]): string {
  return columns.map(({ name }) => name).join(', ')
}

export interface Insertion<Row> {
  readonly table: string
  readonly columns: readonly Column<Row>[]
  /** The clause after the values, such as `on conflict do nothing`. */
  readonly rest?: string
}

/** The columns of `credit` that the rules use. */
export const STATE_COLUMNS: readonly Column<AccountState>[] = [
  whole('balance_nano_usd', ({ balance }) => balance),
  whole('held_nano_usd', ({ held }) => held),
  whole('allowance_nano_usd', ({ allowance }) => allowance),
  whole('month', ({ month }) => month),
  whole('granted_month', ({ grantedMonth }) => grantedMonth),
  whole('spent_nano_usd', ({ spent }) => spent),
  whole('entries', ({ entries }) => entries),
  whole('entered_at', ({ enteredAt }) => enteredAt),
  whole('monthly_budget_nano_usd', ({ monthlyBudget }) => monthlyBudget),
  whole('max_overrun_nano_usd', ({ maxOverrun }) => maxOverrun),
  text('alert_thresholds', ({ thresholds }) => thresholdsText(thresholds)),
]
export const ACCOUNT_COLUMNS = namesOf(STATE_COLUMNS)

/** The columns that are read of an account. */
export const READ_ACCOUNT_COLUMNS = `${ACCOUNT_COLUMNS}, has_budgets`

/** A hold as it is made, or raised before it was written. */
export interface NewHold {
  readonly unit: HoldUnit
  readonly amount: NanoUsd
  readonly budgets?: HoldState['budgets']
}

export const HOLDS: Insertion<NewHold> = {
  table: 'hold',
  columns: [
    text('account_id', ({ unit }) => unit.accountId),
    text('id', ({ unit }) => unit.id),
    text('key_id', ({ unit }) => unit.keyId),
    text('instance_id', ({ unit }) => unit.instanceId),
    whole('amount_nano_usd', ({ amount }) => amount),
    whole('of_key_budget', ({ unit }) => unit.keyBudgetNanoUsd !== undefined),
    text('model', ({ unit }) => unit.model),
    text('provider', ({ unit }) => unit.provider),
    whole('stream', ({ unit }) => unit.stream),
    text('price_version', ({ unit }) => unit.priceVersion),
    whole('prompt_tokens', ({ unit }) => unit.promptTokens),
    whole('completion_tokens', () => 0),
    whole('estimate_nano_usd', ({ unit }) => firstEstimate(unit)),
    whole('created_at', ({ unit }) => unit.createdAt),
    text('client_request_id', ({ unit }) => unit.clientRequestId),
    text('ancestors', ({ unit }) => ancestorsText(heldAncestors(unit.ancestors))),
    whole('byok_fee_ppm', ({ unit }) => unit.byokFeePpm),
    text('api', ({ unit }) => unit.api),
    text('team_id', ({ unit }) => unit.teamId),
    text('budgets', ({ budgets }) => windowsText(budgets)),
    text('tags', ({ unit }) => tagsText(unit.attribution?.tags)),
    text('session_id', ({ unit }) => unit.attribution?.session),
    text('end_user', ({ unit }) => unit.attribution?.endUser),
    text('request_id', ({ unit }) => unit.requestId),
  ],
}

/** The first estimate assumes that the provider reads the prompt and returns nothing. */
function firstEstimate({ promptTokens, inputPrice, outputPrice }: HoldUnit): NanoUsd {
  return chargeNanoUsd(
    { prompt: promptTokens, completion: 0 },
    { inputMicroUsd: inputPrice, outputMicroUsd: outputPrice },
  )
}

/** The primary key rejects a second row: a completion is charged once. */
export const COMPLETIONS: Insertion<CompletionRecord> = {
  table: 'completion',
  columns: [
    text('account_id', ({ accountId }) => accountId),
    text('id', ({ id }) => id),
    text('key_id', ({ keyId }) => keyId),
    text('model', ({ model }) => model),
    text('provider', ({ provider }) => provider),
    text('status', ({ status }) => status),
    whole('stream', ({ stream }) => stream),
    text('finish_reason', ({ finishReason }) => finishReason),
    whole('prompt_tokens', ({ promptTokens }) => promptTokens),
    whole('completion_tokens', ({ completionTokens }) => completionTokens),
    whole('cached_tokens', ({ cachedTokens }) => cachedTokens),
    whole('cache_write_tokens', ({ cacheWriteTokens }) => cacheWriteTokens),
    whole('reasoning_tokens', ({ reasoningTokens }) => reasoningTokens),
    whole('cost_nano_usd', ({ costNanoUsd }) => costNanoUsd),
    text('price_version', ({ priceVersion }) => priceVersion),
    // A bounded figure is still the provider's; `usage_bounded` marks it.
    text('usage_source', ({ usageSource }) => (usageSource === 'bounded' ? 'provider' : usageSource)),
    whole('created_at', ({ createdAt }) => createdAt),
    whole('duration_ms', ({ durationMs }) => Math.round(durationMs)),
    whole('first_byte_ms', ({ firstByteMs }) => firstByteMs && Math.round(firstByteMs)),
    whole('attempts', ({ attempts }) => attempts),
    text('client_request_id', ({ clientRequestId }) => clientRequestId),
    whole('usage_bounded', ({ usageSource }) => (usageSource === 'bounded' ? 1 : undefined)),
    whole('unbilled_nano_usd', ({ unbilledNanoUsd }) => unbilledNanoUsd),
    whole('provider_cost_nano_usd', ({ providerCostNanoUsd }) => providerCostNanoUsd),
    text('attempt_log', ({ attemptLog }) => attemptLogText(attemptLog)),
    text('usage_detail', ({ usageDetail }) => usageDetailText(usageDetail)),
    text('price_rule', ({ priceRule }) => priceRule),
    text('api', ({ api }) => api),
    text('team_id', ({ teamId }) => teamId),
    text('tags', ({ attribution }) => tagsText(attribution?.tags)),
    text('session_id', ({ attribution }) => attribution?.session),
    text('end_user', ({ attribution }) => attribution?.endUser),
    text('request_id', ({ requestId }) => requestId),
  ],
}

export interface OfAccount<Row> {
  readonly accountId: AccountId
  readonly row: Row
}

export const LEDGER_ROWS: Insertion<OfAccount<LedgerRow>> = {
  table: 'ledger',
  columns: [
    text('account_id', ({ accountId }) => accountId),
    whole('number', ({ row }) => row.number),
    text('kind', ({ row }) => row.kind),
    text('debit', ({ row }) => row.debit),
    text('credit', ({ row }) => row.credit),
    whole('amount_nano_usd', ({ row }) => row.amount),
    whole('balance_nano_usd', ({ row }) => row.balance),
    text('completion_id', ({ row }) => row.completionId),
    text('key_id', ({ row }) => row.keyId),
    text('price_version', ({ row }) => row.priceVersion),
    whole('adjusts', ({ row }) => row.adjusts),
    text('note', ({ row }) => row.note),
    whole('created_at', ({ row }) => row.createdAt),
    text('budgets', ({ row }) => windowsText(row.budgets)),
  ],
}

/** The columns that all alerts have. */
const ALERT_COLUMNS: Insertion<OfAccount<Pick<AlertRow, 'threshold' | 'spent' | 'limit' | 'createdAt'>>>['columns'] = [
  whole('threshold', ({ row }) => row.threshold),
  whole('spent_nano_usd', ({ row }) => row.spent),
  whole('limit_nano_usd', ({ row }) => row.limit),
  whole('created_at', ({ row }) => row.createdAt),
  whole('told', () => 0),
]

export const ALERTS: Insertion<OfAccount<AlertRow>> = {
  table: 'usage_alert',
  columns: [
    text('account_id', ({ accountId }) => accountId),
    whole('month', ({ row }) => row.month),
    text('event', ({ row }) => row.event),
    text('basis', ({ row }) => row.basis),
    ...ALERT_COLUMNS,
  ],
  rest: 'on conflict do nothing',
}

export const BUDGET_ALERTS: Insertion<OfAccount<BudgetAlertRow>> = {
  table: 'budget_alert',
  columns: [
    text('account_id', ({ accountId }) => accountId),
    text('budget_id', ({ row }) => row.budgetId),
    whole('starts_at', ({ row }) => row.start),
    ...ALERT_COLUMNS,
  ],
  rest: 'on conflict do nothing',
}

export const ENTRY_KEYS: Insertion<KeyedEntry & EntryKey> = {
  table: 'ledger_entry_key',
  columns: [
    text('account_id', ({ entry }) => entry.accountId),
    text('key', ({ key }) => key),
    text('fingerprint', ({ fingerprint }) => fingerprint),
    whole('number', ({ entry }) => entry.number),
  ],
}

/** The columns of a rollup that grow with each completion. */
export const SUMMED = ['requests', 'prompt_tokens', 'completion_tokens', 'cost_nano_usd', 'margin_nano_usd']

/** Adds to the rollup of an hour or a day. */
function sumsBy(table: string, unit: 'hour' | 'day'): Insertion<UsageSum> {
  const changes = SUMMED.map((name) => `${name} = ${table}.${name} + excluded.${name}`)
  return {
    table,
    columns: [
      text('account_id', (sum) => sum.accountId),
      whole(unit, (sum) => sum.unit),
      text('key_id', (sum) => sum.keyId),
      text('model', (sum) => sum.model),
      whole('requests', (sum) => sum.requests),
      whole('prompt_tokens', (sum) => sum.promptTokens),
      whole('completion_tokens', (sum) => sum.completionTokens),
      whole('cost_nano_usd', (sum) => sum.costNanoUsd),
      whole('margin_nano_usd', (sum) => sum.marginNanoUsd),
    ],
    rest: `on conflict (account_id, ${unit}, key_id, model) do update set ${changes.join(', ')}`,
  }
}

export const HOURS = sumsBy('usage_hour', 'hour')
export const DAYS = sumsBy('usage_rollup', 'day')

export type AccountRow = Omit<Selectable<CreditTable>, 'account_id' | 'retired_nano_usd'>

/** The first row of `credit` of an account, without the account's ID. */
export const CREATED_ROW: Omit<Insertable<CreditTable>, 'account_id'> = {
  balance_nano_usd: CREATED.balance,
  held_nano_usd: CREATED.held,
  allowance_nano_usd: CREATED.allowance,
  month: CREATED.month,
  granted_month: CREATED.grantedMonth,
  spent_nano_usd: CREATED.spent,
  entries: CREATED.entries,
  entered_at: CREATED.enteredAt,
  monthly_budget_nano_usd: null,
  max_overrun_nano_usd: null,
  alert_thresholds: DEFAULT_THRESHOLDS_TEXT,
  retired_nano_usd: 0n,
}

export function accountState(row: AccountRow): AccountState {
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
    maxOverrun: row.max_overrun_nano_usd ?? undefined,
    thresholds: parseThresholds(row.alert_thresholds),
    hasBudgets: row.has_budgets === 1,
  }
}

export function parseThresholds(text: string): readonly number[] {
  if (text === DEFAULT_THRESHOLDS_TEXT) return DEFAULT_ALERT_THRESHOLDS
  return JSON.parse(text) as number[] // written from `thresholdsText` alone
}

function thresholdsText(thresholds: readonly number[]): string {
  return thresholds === DEFAULT_ALERT_THRESHOLDS ? DEFAULT_THRESHOLDS_TEXT : JSON.stringify(thresholds)
}

export function keyState(row: Pick<KeySpendingTable, 'month' | 'spent_nano_usd' | 'held_nano_usd'>): KeyState {
  return { month: row.month, spent: row.spent_nano_usd, held: row.held_nano_usd }
}

export type ChargedRow = Pick<
  CompletionTable,
  | 'key_id'
  | 'model'
  | 'created_at'
  | 'prompt_tokens'
  | 'completion_tokens'
  | 'cost_nano_usd'
  | 'unbilled_nano_usd'
  | 'provider_cost_nano_usd'
  | 'status'
  | 'usage_source'
>

export type ChargeEntry = Pick<LedgerTable, 'number' | 'created_at' | 'budgets'>

/** Read only for estimates. */
export function mayBeCorrected({ status, usage_source: source, cost_nano_usd: cost }: ChargedRow): boolean {
  return status === 'incomplete' && source === 'estimated' && cost > 0n
}

export function priorCharge(row: ChargedRow, entry: PriorCharge['entry']): PriorCharge {
  return {
    keyId: row.key_id,
    model: row.model,
    createdAt: row.created_at,
    promptTokens: row.prompt_tokens,
    completionTokens: row.completion_tokens,
    costNanoUsd: row.cost_nano_usd,
    unbilledNanoUsd: row.unbilled_nano_usd ?? undefined,
    providerCostNanoUsd: row.provider_cost_nano_usd ?? undefined,
    status: row.status,
    usageSource: row.usage_source,
    entry,
  }
}

/** Identical for the same entry over HTTP and on the command line. */
export function entryKey(key: string, { kind, nanoUsd, note }: NewEntry): EntryKey {
  const text = canonicalJson({ kind, nanoUsd: String(nanoUsd), note })
  return { key, fingerprint: createHash('sha256').update(text).digest('hex') }
}

/** `where` or a further join follows. */
export const ENTRY_OF_KEY = `select asked.key, asked.fingerprint, ledger.account_id, ledger.number, ledger.kind,
  ledger.amount_nano_usd, ledger.balance_nano_usd, ledger.completion_id, ledger.key_id, ledger.price_version,
  ledger.adjusts, ledger.note, ledger.created_at
from ledger_entry_key as asked
join ledger on ledger.account_id = asked.account_id and ledger.number = asked.number`

type EntryRow = Omit<LedgerTable, 'debit' | 'credit' | 'budgets'>
export type EntryOfKeyRow = Pick<LedgerEntryKeyTable, 'key' | 'fingerprint'> & EntryRow

export function keyedEntryOf(row: EntryOfKeyRow): KeyedEntry {
  return { fingerprint: row.fingerprint, entry: toLedgerEntry(row) }
}

export function toLedgerEntry(row: EntryRow): LedgerEntry {
  return {
    accountId: row.account_id,
    number: row.number,
    kind: row.kind,
    nanoUsd: row.amount_nano_usd,
    balanceNanoUsd: row.balance_nano_usd,
    completionId: row.completion_id ?? undefined,
    keyId: row.key_id ?? undefined,
    priceVersion: row.price_version ?? undefined,
    adjusts: row.adjusts ?? undefined,
    note: row.note ?? undefined,
    createdAt: row.created_at,
  }
}

function ancestorsText(ancestors: readonly HeldAncestor[] | undefined): string | undefined {
  return ancestors?.map(({ keyId, ofBudget }) => (ofBudget ? `+${keyId}` : keyId)).join(' ')
}

/** @param text A column that an earlier release may not have filled. */
export function parseAncestors(text: string | null): readonly HeldAncestor[] | undefined {
  if (text === null || text === '') return undefined
  return text.split(' ').map((name) => {
    const ofBudget = name.startsWith('+')
    return { keyId: (ofBudget ? name.slice(1) : name) as KeyId, ofBudget } // as `ancestorsText` wrote it
  })
}

/** `id@start` of each window, in the columns `hold.budgets` and `ledger.budgets`. */
function windowsText(windows: readonly BudgetWindowRef[] | undefined): string | undefined {
  return windows?.map(({ budgetId, start }) => `${budgetId}@${start}`).join(' ')
}

export function parseWindows(text: string | null): readonly BudgetWindowRef[] | undefined {
  if (text === null || text === '') return undefined
  return text.split(' ').map((name) => {
    const at = name.lastIndexOf('@')
    return { budgetId: name.slice(0, at) as BudgetId, start: Number(name.slice(at + 1)) } // as `windowsText` wrote it
  })
}

export function chargeEntry({
  number,
  created_at: createdAt,
  budgets,
}: ChargeEntry): NonNullable<PriorCharge['entry']> {
  return budgets === null ? { number, createdAt } : { number, createdAt, budgets: parseWindows(budgets) }
}

/** Columns of `KnownBudget`. @param now SQL of the time. */
export function budgetColumns(now: string): string {
  return `budget.id, budget.level, budget.period, budget.timezone, budget.starts_at, budget.action, budget.ended_at,
  budget.limit_nano_usd + coalesce((select sum(amount_nano_usd) from budget_raise
    where budget_raise.account_id = budget.account_id and budget_raise.budget_id = budget.id
      and budget_raise.ends_at > ${now}), 0) as limit_nano_usd`
}

export type BudgetRow = Omit<BudgetTable, 'account_id' | 'subject' | 'position' | 'created_at'>

export function knownBudget(row: BudgetRow): KnownBudget {
  return {
    id: row.id,
    level: row.level,
    window: row.period,
    timezone: row.timezone,
    startsAt: row.starts_at ?? undefined,
    action: row.action,
    limit: row.limit_nano_usd,
    isRemoved: row.ended_at !== null,
  }
}
