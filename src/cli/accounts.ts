/** `turnpike accounts`: accounts and their plans, directly in the database. */
import type { AccountId } from '../domain/ids.ts'
import {
  type Account,
  createAccount,
  listAccounts,
  renderAccount,
  setAccountPlan,
} from '../features/accounts/queries.ts'
import { textTable } from '../lib/text-table.ts'
import { type CommandContext, unknownAccount, withDatabase } from './database.ts'
import type { AccountsCreateOptions, JsonOption } from './program.ts'
import { wrongUsage } from './wrong-usage.ts'

/** Prints the account's id and nothing else. */
export async function accountsCreate({ name, plan, json }: AccountsCreateOptions): Promise<void> {
  await withDatabase(async (context) => {
    const chosen = configuredPlan(context, plan ?? context.config.accounts.default_plan)
    const account = await createAccount(context.db, { name: name.trim(), plan: chosen }, context)
    print(json === true ? JSON.stringify(renderAccount(account)) : account.id)
  })
}

export async function accountsList({ json }: JsonOption): Promise<void> {
  await withDatabase(async ({ db }) => {
    const accounts = await listAccounts(db)
    if (json === true) print(JSON.stringify({ data: accounts.map(renderAccount), has_more: false, next_cursor: null }))
    else process.stdout.write(accountsTable(accounts))
  })
}

/** In force within a second in every process. */
export async function accountsSetPlan(id: string, plan: string, { json }: JsonOption = {}): Promise<void> {
  await withDatabase(async (context) => {
    const chosen = configuredPlan(context, plan)
    const account = await setAccountPlan(context.db, { id: id as AccountId, plan: chosen }, context.now())
    if (account === undefined) throw unknownAccount(id)
    print(json === true ? JSON.stringify(renderAccount(account)) : `${id} has the plan ${chosen}.`)
  })
}

function configuredPlan({ config }: CommandContext, plan: string): string {
  if (Object.hasOwn(config.plans, plan)) return plan
  throw wrongUsage(`'${plan}' is no plan; there are ${Object.keys(config.plans).join(', ')}.`)
}

function accountsTable(accounts: readonly Account[]): string {
  const rows = accounts.map(({ id, name, plan, createdAt }) => [id, name, plan, new Date(createdAt).toISOString()])
  return textTable(['ID', 'NAME', 'PLAN', 'CREATED'], rows)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
