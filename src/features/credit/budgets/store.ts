/** Budgets of subjects: set, raised and read. Holds read them in the ledger's own transaction. */
import type { Kysely, Selectable } from 'kysely'
import { nextChangedAt } from '../../../db/changed-at.ts'
import type { BudgetRaiseTable, BudgetTable, BudgetWindowTable, Database } from '../../../db/schema/schema.ts'
import { given, type PageOf, pageBy } from '../../../db/shared-queries.ts'
import {
  type BudgetLevel,
  type BudgetRaise,
  type BudgetStatus,
  type BudgetSubject,
  type BudgetTerms,
  forecastExhaustion,
  type OwnedSubject,
  subjectName,
} from '../../../domain/budget.ts'
import type { AccountId, BudgetId, KeyId } from '../../../domain/ids.ts'
import { usdText } from '../../../domain/money.ts'
import { budgetName } from '../../../http/fields/budgets.ts'
import { windowAt } from '../../../lib/calendar-window.ts'
import type { BudgetPort, FeatureDeps, WriteAudit } from '../../deps.ts'
import { budgetAlertsOfSettings } from '../ledger/hold-rules.ts'
import { CREATED_ROW, parseThresholds } from '../ledger/rows.ts'

export interface BudgetDeps extends Pick<FeatureDeps, 'db' | 'now' | 'ids'> {
  readonly writeAudit: WriteAudit
}

export function createBudgets({ db, now, ids, writeAudit }: BudgetDeps): BudgetPort {
  return {
    async replace(inside, { subject, budgets, audited }) {
      const { accountId, level, id } = subject
      await lockCredit(inside, accountId)
      await replaceRows(inside, { subject, budgets, now: now(), newId: ids.budget })
      await noteBudgets(inside, subject, now())
      await alertOfSettings(inside, { accountId, subjects: [subject], now: now() })
      const details = { level, subject: id, budgets: budgets.map(describeTerms) }
      await writeAudit(inside, {
        ...audited,
        accountId,
        action: 'budgets.changed',
        subject: id,
        result: 'done',
        details,
      })
    },
    async alertAll(inside, accountId) {
      await lockCredit(inside, accountId)
      let after: BudgetId | undefined
      do {
        const page = { limit: ALERTED_AT_ONCE, order: 'asc', after } as const
        const statuses = await listBudgets(inside, { accountId, page, now: now() })
        await insertAlerts(inside, accountId, { statuses, now: now() })
        after = statuses.length < ALERTED_AT_ONCE ? undefined : statuses.at(-1)?.budgetId
      } while (after !== undefined)
    },
    async read(accountId, subjects) {
      const statuses = await budgetStatuses(db, { accountId, subjects, now: now() })
      return Map.groupBy(statuses, subjectName)
    },
  }
}

function describeTerms({ limitNanoUsd, window, timezone, action }: BudgetTerms): string {
  return `${usdText(limitNanoUsd)} USD, ${window}, ${timezone}, ${action}`
}

/** Under this lock the ledger decides on holds and charges of the account: what changes here is seen by the next one. */
export async function lockCredit(inside: Kysely<Database>, accountId: AccountId): Promise<void> {
  await inside
    .insertInto('credit')
    .values({ ...CREATED_ROW, account_id: accountId })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await inside
    .updateTable('credit')
    .set(({ ref }) => ({ has_budgets: ref('has_budgets') }))
    .where('account_id', '=', accountId)
    .execute()
}

/** So that no insertion has more values than a database takes: each budget has at most 10 thresholds. */
const ALERTED_AT_ONCE = 100

/** Writes the alerts of budgets whose spending has reached a threshold already. Requires `lockCredit`. */
export async function alertOfSettings(inside: Kysely<Database>, query: StatusQuery): Promise<void> {
  const statuses = await budgetStatuses(inside, query)
  await insertAlerts(inside, query.accountId, { statuses, now: query.now })
}

/** Those that were sent in the window stay as they were. */
async function insertAlerts(
  inside: Kysely<Database>,
  accountId: AccountId,
  { statuses, now }: { readonly statuses: readonly BudgetStatus[]; readonly now: number },
): Promise<void> {
  const credit = inside.selectFrom('credit').select('alert_thresholds').where('account_id', '=', accountId)
  const thresholds = parseThresholds((await credit.executeTakeFirstOrThrow()).alert_thresholds)
  const alerts = statuses.flatMap(({ budgetId, windowStart: start, spentNanoUsd: spent, raisedLimitNanoUsd: limit }) =>
    budgetAlertsOfSettings({ budgetId, start, spent, limit }, { thresholds, now }),
  )
  if (alerts.length === 0) return
  const rows = alerts.map(({ budgetId, start, threshold, spent, limit, createdAt }) => ({
    ...{
      account_id: accountId,
      budget_id: budgetId,
      starts_at: start,
      threshold,
      created_at: createdAt,
      told: 0 as const,
    },
    ...{ spent_nano_usd: spent, limit_nano_usd: limit },
  }))
  await inside
    .insertInto('budget_alert')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

interface Replacement {
  readonly subject: OwnedSubject
  readonly budgets: readonly BudgetTerms[]
  readonly now: number
  readonly newId: () => BudgetId
}

async function replaceRows(
  inside: Kysely<Database>,
  { subject: { accountId, level, id }, budgets, now, newId }: Replacement,
): Promise<void> {
  const active = await activeBudgets(inside, accountId, [{ level, id }])
  const before = new Map(active.map((row) => [budgetName(termsOf(row)), row]))
  for (const [position, terms] of budgets.entries()) {
    const name = budgetName(terms)
    const known = before.get(name)
    before.delete(name)
    const changes = { limit_nano_usd: terms.limitNanoUsd, action: terms.action, position }
    if (known !== undefined) {
      await updateBudget(inside, known, changes)
      continue
    }
    const { window: period, timezone, startsAt } = terms
    const row = {
      account_id: accountId,
      id: newId(),
      level,
      subject: id,
      period,
      timezone,
      starts_at: startsAt ?? null,
    }
    await inside
      .insertInto('budget')
      .values({ ...row, ...changes, created_at: now, ended_at: null })
      .execute()
  }
  for (const row of before.values()) await updateBudget(inside, row, { ended_at: now })
}

async function updateBudget(
  inside: Kysely<Database>,
  { account_id, id }: Pick<BudgetTable, 'account_id' | 'id'>,
  changes: Partial<Pick<BudgetTable, 'limit_nano_usd' | 'action' | 'position' | 'ended_at'>>,
): Promise<void> {
  await inside
    .updateTable('budget')
    .set(changes)
    .where(({ and }) => and({ account_id, id }))
    .execute()
}

/** Notes whether the account has budgets, and the key: a key with budgets is limited. */
async function noteBudgets(inside: Kysely<Database>, { accountId, level, id }: OwnedSubject, now: number) {
  const some = inside
    .selectFrom('budget')
    .select('id')
    .where('account_id', '=', accountId)
    .where('ended_at', 'is', null)
  const any = await some.limit(1).executeTakeFirst()
  const has = (row: object | undefined) => (row === undefined ? 0 : 1)
  await inside
    .updateTable('credit')
    .set({ has_budgets: has(any) })
    .where('account_id', '=', accountId)
    .execute()
  if (level !== 'key') return
  const own = await some
    .where(({ and }) => and({ level, subject: id }))
    .limit(1)
    .executeTakeFirst()
  await inside
    .updateTable('api_key')
    .set({ has_budgets: has(own), changed_at: nextChangedAt('api_key', now) })
    .where(({ and }) => and({ account_id: accountId, id: id as KeyId })) // the subject of this level
    .execute()
}

type BudgetRow = Selectable<BudgetTable>

function activeBudgets(db: Kysely<Database>, accountId: AccountId, subjects: readonly BudgetSubject[] | undefined) {
  const rows = db.selectFrom('budget').selectAll().where('account_id', '=', accountId).where('ended_at', 'is', null)
  if (subjects === undefined) return rows.orderBy('id').execute()
  if (subjects.length === 0) return Promise.resolve([])
  return rows
    .where(({ or, and }) => or(subjects.map(({ level, id }) => and({ level, subject: id }))))
    .orderBy('position')
    .execute()
}

export function termsOf(
  row: Pick<BudgetRow, 'limit_nano_usd' | 'period' | 'timezone' | 'starts_at' | 'action'>,
): BudgetTerms {
  return {
    limitNanoUsd: row.limit_nano_usd,
    window: row.period,
    timezone: row.timezone,
    startsAt: row.starts_at ?? undefined,
    action: row.action,
  }
}

interface StatusQuery {
  readonly accountId: AccountId
  /** Undefined: all of the account. */
  readonly subjects?: readonly BudgetSubject[] | undefined
  /** Undefined: any. */
  readonly ids?: readonly BudgetId[] | undefined
  readonly now: number
}

/** In the order of their creation. */
export async function budgetStatuses(
  db: Kysely<Database>,
  { accountId, subjects, ids, now }: StatusQuery,
): Promise<readonly BudgetStatus[]> {
  const rows = ids === undefined ? await activeBudgets(db, accountId, subjects) : await budgetsById(db, accountId, ids)
  return statusesOf(db, rows, now)
}

function budgetsById(db: Kysely<Database>, accountId: AccountId, ids: readonly BudgetId[]) {
  const rows = db.selectFrom('budget').selectAll().where('account_id', '=', accountId)
  return rows.where('id', 'in', ids).where('ended_at', 'is', null).orderBy('id').execute()
}

interface ListQuery extends Pick<StatusQuery, 'accountId' | 'now'> {
  readonly level?: BudgetLevel | undefined
  readonly subject?: string | undefined
  readonly page: PageOf
}

/** Budgets of all levels, by their IDs. */
export async function listBudgets(
  db: Kysely<Database>,
  { accountId, level, subject, page, now }: ListQuery,
): Promise<readonly (BudgetStatus & { readonly budgetId: BudgetId })[]> {
  const rows = await db
    .selectFrom('budget')
    .selectAll()
    .where(({ and }) => and(given({ account_id: accountId, level, subject })))
    .where('ended_at', 'is', null)
    .$call(pageBy('id', page))
    .execute()
  return statusesOf(db, rows, now)
}

async function statusesOf(
  db: Kysely<Database>,
  rows: readonly BudgetRow[],
  now: number,
): Promise<readonly BudgetStatus[]> {
  if (rows.length === 0) return []
  const [windows, raises] = await Promise.all([currentWindows(db, rows, now), activeRaises(db, rows, now)])
  return rows.map((row) => statusOf(row, { window: windows.get(row.id), raises: raises.get(row.id) ?? [], now }))
}

/** The window of a moment; undefined before the first. */
function windowOf(row: Pick<BudgetRow, 'period' | 'timezone' | 'starts_at'>, now: number) {
  const { period: unit, timezone: timeZone, starts_at: anchor } = row
  return windowAt({ unit, timeZone, anchor: anchor ?? undefined }, now)
}

type WindowRow = Selectable<BudgetWindowTable>

/** The latest window of each budget, if that is not over. */
async function currentWindows(db: Kysely<Database>, rows: readonly BudgetRow[], now: number) {
  const starts = new Map(rows.map((row) => [row.id, windowOf(row, now)?.start ?? now]))
  const found = await db
    .selectFrom('budget_window')
    .selectAll()
    .where('account_id', '=', rows[0]?.account_id ?? NO_ACCOUNT)
    .where('budget_id', 'in', [...starts.keys()])
    .where('starts_at', '>=', Math.min(...starts.values()))
    .orderBy('starts_at')
    .execute()
  const current = found.filter(({ budget_id: id, starts_at: start }) => start >= (starts.get(id) ?? start))
  return new Map<BudgetId, WindowRow>(current.map((row) => [row.budget_id, row]))
}

const NO_ACCOUNT = '' as AccountId

async function activeRaises(db: Kysely<Database>, rows: readonly BudgetRow[], now: number) {
  const found = await db
    .selectFrom('budget_raise')
    .selectAll()
    .where('account_id', '=', rows[0]?.account_id ?? NO_ACCOUNT)
    .where(
      'budget_id',
      'in',
      rows.map(({ id }) => id),
    )
    .where('ends_at', '>', now)
    .orderBy('created_at')
    .execute()
  return Map.groupBy(found, ({ budget_id: id }) => id)
}

interface Current {
  readonly window: WindowRow | undefined
  readonly raises: readonly Selectable<BudgetRaiseTable>[]
  readonly now: number
}

function statusOf(row: BudgetRow, { window: found, raises, now }: Current): BudgetStatus {
  const terms = termsOf(row)
  const window = windowOf(row, found?.starts_at ?? now)
  const windowStart = found?.starts_at ?? window?.start ?? row.starts_at ?? now
  const raisedLimitNanoUsd = raises.reduce((sum, raise) => sum + raise.amount_nano_usd, terms.limitNanoUsd)
  const [spentNanoUsd, heldNanoUsd] = [found?.spent_nano_usd ?? 0n, found?.held_nano_usd ?? 0n]
  const resetsAt = window?.end
  const since = Math.max(windowStart, row.created_at)
  const pace = { spentNanoUsd, limitNanoUsd: raisedLimitNanoUsd, since, resetsAt, now }
  return {
    ...terms,
    budgetId: row.id,
    level: row.level,
    id: row.subject,
    raisedLimitNanoUsd,
    spentNanoUsd,
    heldNanoUsd,
    windowStart,
    resetsAt,
    exhaustedAt: forecastExhaustion(pace),
    raises: raises.map(raiseOf),
  }
}

function raiseOf(row: Selectable<BudgetRaiseTable>): BudgetRaise {
  const { id, amount_nano_usd: nanoUsd, reason, created_at: createdAt, ends_at: endsAt } = row
  return { id, nanoUsd, reason, createdAt, endsAt }
}

// How full the budgets of the installation are, for metrics: read in the background, at most once a minute.

/** Budgets that are compared. */
const COMPARED_BUDGETS = 5_000
const FRESH_MS = 60_000

export interface BudgetFill {
  /** ID of the budget. */
  readonly budget: string
  readonly leftNanoUsd: bigint
  readonly limitNanoUsd: bigint
}

/**
 * Returns what is known of the budgets that something was spent or held of in their current window.
 * @param clock Monotonic milliseconds.
 */
export function watchBudgetFills(
  db: Kysely<Database>,
  { now, clock }: { readonly now: () => number; readonly clock: () => number },
): () => readonly BudgetFill[] {
  let known: readonly BudgetFill[] = []
  let readAt = Number.NEGATIVE_INFINITY
  return () => {
    if (clock() - readAt >= FRESH_MS) {
      readAt = clock()
      // While the database is away, what is known stays.
      readFills(db, now()).then(
        (fills) => {
          known = fills
        },
        () => undefined,
      )
    }
    return known
  }
}

export async function readFills(db: Kysely<Database>, now: number): Promise<readonly BudgetFill[]> {
  const rows = await db
    .selectFrom('budget')
    .innerJoin('budget_window as used', (join) =>
      join.onRef('used.account_id', '=', 'budget.account_id').onRef('used.budget_id', '=', 'budget.id'),
    )
    .selectAll('budget')
    .select(['used.starts_at as window_starts_at', 'used.spent_nano_usd', 'used.held_nano_usd'])
    .where('budget.ended_at', 'is', null)
    .where('used.starts_at', '=', ({ selectFrom }) =>
      selectFrom('budget_window as latest')
        .select((all) => all.fn.max('latest.starts_at').as('starts_at'))
        .whereRef('latest.account_id', '=', 'budget.account_id')
        .whereRef('latest.budget_id', '=', 'budget.id'),
    )
    .limit(COMPARED_BUDGETS)
    .execute()
  return rows.flatMap((row) => {
    const start = windowOf(row, now)?.start
    if (start === undefined || row.window_starts_at < start) return []
    const used = BigInt(row.spent_nano_usd) + BigInt(row.held_nano_usd)
    const limitNanoUsd = BigInt(row.limit_nano_usd)
    return [{ budget: row.id, leftNanoUsd: limitNanoUsd - used, limitNanoUsd }]
  })
}
