/** `turnpike accounts`: accounts and their plans, directly in the database. */
import type { AccountId } from '../domain/ids.ts'
import { type NanoUsd, usdNumber, usdText } from '../domain/money.ts'
import { noSuchPlan } from '../features/accounts/plans.ts'
import {
  type Account,
  createAccount,
  findAccount,
  listAccounts,
  renderAccount,
  updateAccount,
} from '../features/accounts/queries.ts'
import { textTable } from '../lib/text-table.ts'
import type { AccountsCreateOptions } from './account-commands.ts'
import { auditCommand } from './audit.ts'
import { type CommandContext, EVERYTHING, unknownAccount, withDatabase } from './database.ts'
import type { JsonOption } from './program.ts'
import { wrongUsage } from './wrong-usage.ts'

/** Prints the account's id and nothing else. */
export async function accountsCreate({ name, plan, json }: AccountsCreateOptions): Promise<void> {
  await withDatabase(async (context) => {
    const chosen = configuredPlan(context, plan ?? context.config.accounts.default_plan)
    const account = await context.db.transaction().execute(async (inside) => {
      const created = await createAccount(inside, { name: name.trim(), plan: chosen }, context)
      const details = { name: created.name, plan: chosen }
      const change = { accountId: created.id, action: 'account.created', subject: created.id, details }
      await auditCommand(context, inside, change)
      return created
    })
    await context.credit.read(account)
    print(json === true ? JSON.stringify(renderAccount(account)) : account.id)
  })
}

export async function accountsList({ json }: JsonOption): Promise<void> {
  await withDatabase(async ({ db }) => {
    const accounts = await listAccounts(db, EVERYTHING)
    if (json === true) print(JSON.stringify({ data: accounts.map(renderAccount), has_more: false, next_cursor: null }))
    else process.stdout.write(accountsTable(accounts))
  })
}

/** In force within a second in every process. */
export async function accountsSetPlan(id: string, plan: string, { json }: JsonOption = {}): Promise<void> {
  await withDatabase(async (context) => {
    const chosen = configuredPlan(context, plan)
    const account = await context.db.transaction().execute(async (inside) => {
      const updated = await updateAccount(inside, { id: id as AccountId, plan: chosen }, context.now())
      if (updated === undefined) throw unknownAccount(id)
      const change = { accountId: updated.id, action: 'account.changed', subject: id, details: { plan: chosen } }
      await auditCommand(context, inside, change)
      return updated
    })
    await context.credit.read(account)
    print(json === true ? JSON.stringify(renderAccount(account)) : `${id} has the plan ${chosen}.`)
  })
}

/** @param overrun Null: as its plan says. */
export async function accountsSetOverrun(
  id: string,
  overrun: NanoUsd | null,
  { json }: JsonOption = {},
): Promise<void> {
  await withDatabase(async (context) => {
    const account = await findAccount(context.db, id as AccountId)
    if (account === undefined) throw unknownAccount(id)
    const usd = overrun === null ? null : usdNumber(overrun)
    const details = { max_overrun_usd: usd }
    await auditCommand(context, context.db, { accountId: account.id, action: 'account.changed', subject: id, details })
    await context.credit.configure(account, { maxOverrunNanoUsd: overrun })
    const text = usd === null ? 'the overrun cap of its plan' : `an overrun cap of $${usdText(overrun ?? 0n)}`
    print(json === true ? JSON.stringify({ ...renderAccount(account), ...details }) : `${id} has ${text}.`)
  })
}

function configuredPlan({ config }: CommandContext, plan: string): string {
  if (Object.hasOwn(config.plans, plan)) return plan
  throw wrongUsage(noSuchPlan(plan, Object.keys(config.plans)))
}

function accountsTable(accounts: readonly Account[]): string {
  const rows = accounts.map(({ id, name, plan, createdAt }) => [id, name, plan, new Date(createdAt).toISOString()])
  return textTable(['ID', 'NAME', 'PLAN', 'CREATED'], rows)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
