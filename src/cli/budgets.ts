/** `turnpike budgets`: list, set and raise budgets of all levels, directly in the database. */
import type { BudgetLevel, BudgetStatus, OwnedSubject } from '../domain/budget.ts'
import type { BudgetId } from '../domain/ids.ts'
import { type NanoUsd, usdNumber } from '../domain/money.ts'
import { auditWriter } from '../features/audit/log.ts'
import { addRaise } from '../features/credit/budgets/raises.ts'
import { assertSubject } from '../features/credit/budgets/routes.ts'
import { budgetStatuses, createBudgets } from '../features/credit/budgets/store.ts'
import { parseBudgets, renderBudget } from '../http/fields/budgets.ts'
import { textTable } from '../lib/table.ts'
import { isoTime, parseDurationMs } from '../lib/time.ts'
import { type AccountOption, type CommandContext, chosenAccount, commandOrigin, withDatabase } from './database.ts'
import { type JsonOption, printLine } from './output.ts'

export async function budgetsList({ account, json }: AccountOption): Promise<void> {
  await withDatabase(async (context) => {
    const { id: accountId } = await chosenAccount(context, account)
    print(await budgetStatuses(context.db, { accountId, now: context.now() }), json)
  })
}

export interface BudgetsSetOptions extends AccountOption {
  readonly level: BudgetLevel
  readonly subject?: string
  readonly budget?: readonly CommandBudget[]
  readonly timezone?: string
  readonly starts?: string
  readonly warn?: boolean
}

/** `500/month` */
export interface CommandBudget {
  readonly usd: NanoUsd
  readonly window: BudgetStatus['window']
}

/** Replaces the budgets of a subject; without any: removes them. In force for the next request. */
export async function budgetsSet(options: BudgetsSetOptions): Promise<void> {
  const { level, budget = [], timezone, starts, warn = false } = options
  await withDatabase(async (context) => {
    const { db, now } = context
    const { id: accountId } = await chosenAccount(context, options.account)
    const subject: OwnedSubject = { accountId, level, id: options.subject ?? (level === 'account' ? accountId : '') }
    const common = {
      action: warn ? 'warn' : 'block',
      ...(timezone === undefined ? {} : { timezone }),
      ...(starts === undefined ? {} : { starts }),
    } as const
    const terms = parseBudgets(budget.map(({ usd, window }) => ({ usd: usdNumber(usd), window, ...common })))
    await db.transaction().execute(async (inside) => {
      await assertSubject(inside, subject)
      await portOf(context).replace(inside, { subject, budgets: terms, audited: commandOrigin(accountId) })
    })
    print(await budgetStatuses(db, { accountId, subjects: [subject], now: now() }), options.json)
  })
}

export interface BudgetsRaiseOptions extends JsonOption {
  readonly usd: NanoUsd
  /** A number and a unit: `3d`. */
  readonly for: string
  readonly reason: string
}

export async function budgetsRaise(
  id: string,
  { usd: nanoUsd, for: duration, reason, json }: BudgetsRaiseOptions,
): Promise<void> {
  const durationMs = parseDurationMs(duration) ?? 0 // the option has this form
  await withDatabase(async (context) => {
    const { db, now } = context
    const budgetId = id as BudgetId
    const row = await db.selectFrom('budget').select('account_id').where('id', '=', budgetId).executeTakeFirst()
    if (row === undefined)
      throw new Error(`Budget ${id} does not exist. Run 'turnpike budgets list' to see all budgets.`)
    const audited = commandOrigin(row.account_id)
    await addRaise(
      { ...context, writeAudit: auditWriter(context) },
      { budgetId, audited, nanoUsd, reason, endsAt: now() + durationMs },
    )
    print(await budgetStatuses(db, { accountId: row.account_id, ids: [budgetId], now: now() }), json)
  })
}

function portOf(context: CommandContext) {
  return createBudgets({ ...context, writeAudit: auditWriter(context) })
}

function print(budgets: readonly BudgetStatus[], json: boolean | undefined): void {
  if (json === true) printLine(JSON.stringify({ data: budgets.map(renderBudget) }))
  else process.stdout.write(budgetsTable(budgets))
}

function budgetsTable(budgets: readonly BudgetStatus[]): string {
  const head = ['ID', 'LEVEL', 'SUBJECT', 'WINDOW', 'LIMIT', 'SPENT', 'HELD', 'ACTION', 'RESETS AT']
  const rows = budgets.map((budget) => [
    budget.budgetId,
    budget.level,
    budget.id,
    `${budget.window} ${budget.timezone}`,
    String(usdNumber(budget.raisedLimitNanoUsd)),
    String(usdNumber(budget.spentNanoUsd)),
    String(usdNumber(budget.heldNanoUsd)),
    budget.action,
    budget.resetsAt === undefined ? 'never' : isoTime(budget.resetsAt),
  ])
  return textTable(head, rows, Number.POSITIVE_INFINITY) // subjects are copied into other commands
}
