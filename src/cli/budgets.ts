/** `turnpike budgets`: list, set and raise budgets of all levels, directly in the database. */
import type { BudgetLevel, BudgetStatus, OwnedSubject } from '../domain/budget.ts'
import type { BudgetId, KeyId, TeamId, UserId } from '../domain/ids.ts'
import { type NanoUsd, usdNumber } from '../domain/money.ts'
import { auditWriter } from '../features/audit/log.ts'
import { addRaise } from '../features/credit/budgets/raises.ts'
import { assertSubject } from '../features/credit/budgets/routes.ts'
import { budgetStatuses, createBudgets } from '../features/credit/budgets/store.ts'
import { parseBudgets, renderBudget } from '../http/fields/budgets.ts'
import { isoTime, parseDurationMs } from '../lib/time.ts'
import {
  type AccountOption,
  accountNames,
  type CommandContext,
  chosenAccount,
  commandOrigin,
  withDatabase,
} from './database.ts'
import { keyNamed } from './keys.ts'
import { dollars, type JsonOption, plainTable, printPage, timeText } from './output.ts'
import { memberNamed, teamNamed } from './teams/teams.ts'

export async function budgetsList({ account, ...options }: AccountOption): Promise<void> {
  await withDatabase(async (context) => {
    const { id: accountId } = await chosenAccount(context, account)
    await print(context, await budgetStatuses(context.db, { accountId, now: context.now() }), options)
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
    const subject = await subjectNamed(context, { accountId, level, id: options.subject ?? '' })
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
    await print(context, await budgetStatuses(db, { accountId, subjects: [subject], now: now() }), options)
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
  { usd: nanoUsd, for: duration, reason, ...options }: BudgetsRaiseOptions,
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
    const statuses = await budgetStatuses(db, { accountId: row.account_id, ids: [budgetId], now: now() })
    await print(context, statuses, options)
  })
}

function portOf(context: CommandContext) {
  return createBudgets({ ...context, writeAudit: auditWriter(context) })
}

/** Finds the subject that a name, e-mail address or ID means. @param given An empty `id`: not named. */
async function subjectNamed(context: CommandContext, given: OwnedSubject): Promise<OwnedSubject> {
  const { accountId, level, id } = given
  if (level === 'account' && id === '') return { ...given, id: accountId }
  if (id === '') return given // refused later, like an ID that does not exist
  if (level === 'team') return { ...given, id: (await teamNamed(context.db, id, accountId)).id }
  if (level === 'key') return { ...given, id: (await keyNamed(context.db, id)).id }
  if (level === 'member') return { ...given, id: await memberNamed(context, accountId, id) }
  return given
}

async function print({ db }: CommandContext, budgets: readonly BudgetStatus[], { json }: JsonOption): Promise<void> {
  if (json === true) return printPage(budgets.map(renderBudget))
  process.stdout.write(budgetsTable(budgets, await namesOf(db, budgets)))
}

/** Names of subjects by their IDs; of members their e-mail addresses. */
async function namesOf(
  db: CommandContext['db'],
  budgets: readonly BudgetStatus[],
): Promise<ReadonlyMap<string, string>> {
  const at = (wanted: BudgetLevel) => budgets.filter(({ level }) => level === wanted).map(({ id }) => id)
  const [teams, keys, members] = [at('team') as TeamId[], at('key') as KeyId[], at('member') as UserId[]]
  const rows = await Promise.all([
    accountNames(db).then((names) => [...names].map(([id, name]) => ({ id: id as string, name }))),
    teams.length === 0 ? [] : db.selectFrom('team').select(['id', 'name']).where('id', 'in', teams).execute(),
    keys.length === 0 ? [] : db.selectFrom('api_key').select(['id', 'name']).where('id', 'in', keys).execute(),
    members.length === 0
      ? []
      : db.selectFrom('person').select(['id', 'email as name']).where('id', 'in', members).execute(),
  ])
  return new Map(rows.flat().map(({ id, name }) => [id, name]))
}

function budgetsTable(budgets: readonly BudgetStatus[], names: ReadonlyMap<string, string>): string {
  const head = ['ID', 'LEVEL', 'SUBJECT', 'LIMIT', 'SPENT', 'ACTION', 'RESETS (UTC)']
  const rows = budgets.map((budget) => [
    budget.budgetId,
    budget.level,
    names.get(budget.id) ?? budget.id,
    `${amount(budget.raisedLimitNanoUsd).replace(/\.00$/, '')}/${budget.window}`,
    amount(budget.spentNanoUsd),
    budget.action,
    budget.resetsAt === undefined ? 'never' : timeText(isoTime(budget.resetsAt)).replace(' 00:00', ''),
  ])
  return plainTable(head, rows)
}

/** To the cent; below one, to two digits. `--json` has every digit. */
function amount(nanoUsd: NanoUsd): string {
  const usd = usdNumber(nanoUsd)
  return dollars(usd === 0 || Math.abs(usd) >= 0.01 ? Math.round(usd * 100) / 100 : Number(usd.toPrecision(2)))
}
