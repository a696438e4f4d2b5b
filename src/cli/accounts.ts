/** `turnpike accounts` and `turnpike login-link`: manage accounts directly in the database. */
import { policyText } from '../domain/data-policy.ts'
import type { AccountId } from '../domain/ids.ts'
import { type NanoUsd, usdNumber, usdText } from '../domain/money.ts'
import { createSignInLink, LINK_LIFE_MS, signInUrl } from '../features/accounts/bootstrap.ts'
import {
  type Account,
  createAccount,
  findAccount,
  listAccounts,
  renderAccount,
  updateAccount,
} from '../features/accounts/queries.ts'
import { noSuchPlan } from '../features/accounts/shapes.ts'
import { textTable } from '../lib/table.ts'
import { isoTime } from '../lib/time.ts'
import {
  auditCommand,
  type CommandContext,
  chosenAccount,
  EVERYTHING,
  unknownAccount,
  withDatabase,
} from './database.ts'
import { wrongUsage } from './option-values.ts'
import { type JsonOption, printLine, printResult } from './output.ts'

export interface AccountsCreateOptions extends JsonOption {
  readonly name: string
  readonly plan?: string
}

/** Prints the ID of the new account and nothing else. */
export async function accountsCreate({ json, ...account }: AccountsCreateOptions): Promise<void> {
  await withDatabase(async (context) => {
    const created = await addAccount(context, account)
    printLine(json === true ? JSON.stringify(renderAccount(created)) : created.id)
  })
}

/** Creates an account with the allowance of its plan. */
export async function addAccount(
  context: CommandContext,
  { name, plan = context.config.accounts.default_plan }: Pick<AccountsCreateOptions, 'name' | 'plan'>,
): Promise<Account> {
  const chosen = configuredPlan(context, plan)
  const account = await context.db.transaction().execute(async (transaction) => {
    const created = await createAccount(transaction, { name: name.trim(), plan: chosen }, context)
    const details = { name: created.name, plan: chosen }
    const change = { accountId: created.id, action: 'account.created', subject: created.id, details }
    await auditCommand(context, transaction, change)
    return created
  })
  await context.credit.read(account)
  return account
}

export async function accountsList({ json }: JsonOption): Promise<void> {
  await withDatabase(async ({ db }) => {
    const accounts = await listAccounts(db, EVERYTHING)
    if (json === true)
      printLine(JSON.stringify({ data: accounts.map(renderAccount), has_more: false, next_cursor: null }))
    else process.stdout.write(accountsTable(accounts))
  })
}

export async function accountsSetPlan(id: string, plan: string, { json }: JsonOption = {}): Promise<void> {
  await withDatabase(async (context) => {
    const account = await changePlan(context, id, plan)
    printLine(json === true ? JSON.stringify(renderAccount(account)) : `Account ${id} is on plan ${plan}.`)
  })
}

/** Changes the plan of an account. Every process applies it within a second. */
export async function changePlan(context: CommandContext, id: string, plan: string): Promise<Account> {
  const chosen = configuredPlan(context, plan)
  const account = await context.db.transaction().execute(async (transaction) => {
    const updated = await updateAccount(transaction, { id: id as AccountId, plan: chosen }, context.now())
    if (updated === undefined) throw unknownAccount(id)
    const change = { accountId: updated.id, action: 'account.changed', subject: id, details: { plan: chosen } }
    await auditCommand(context, transaction, change)
    return updated
  })
  await context.credit.read(account)
  return account
}

/** @param overrun Null: the overrun cap of its plan. */
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
    printLine(json === true ? JSON.stringify({ ...renderAccount(account), ...details }) : `Account ${id} has ${text}.`)
  })
}

export interface AccountsPolicyOptions extends JsonOption {
  readonly dataCollection?: 'allow' | 'deny'
  readonly zdr?: boolean
  readonly regions?: string[]
}

/** Replaces the data policy of an account. Every process applies it within a second. */
export async function accountsSetPolicy(
  id: string,
  { json, dataCollection, zdr, regions }: AccountsPolicyOptions,
): Promise<void> {
  const dataPolicy = { dataCollection, zdr, regions }
  await withDatabase(async (context) => {
    const account = await context.db.transaction().execute(async (inside) => {
      const updated = await updateAccount(inside, { id: id as AccountId, dataPolicy }, context.now())
      if (updated === undefined) throw unknownAccount(id)
      const details = { data_policy: policyText(dataPolicy) }
      await auditCommand(context, inside, { accountId: updated.id, action: 'account.changed', subject: id, details })
      return updated
    })
    const text = policyText(dataPolicy) === null ? 'no data policy' : `the data policy ${policyText(dataPolicy)}`
    printLine(json === true ? JSON.stringify(renderAccount(account)) : `Account ${id} has ${text}.`)
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

/** Prints a one-time sign-in link, valid for 15 minutes, for the owner of the first account, and nothing else. */
export async function loginLink(options: JsonOption): Promise<void> {
  await withDatabase(async (context) => {
    const { id: accountId } = await chosenAccount(context, undefined)
    const now = context.now()
    const token = await context.db.transaction().execute(async (transaction) => {
      const change = { accountId, action: 'sign_in_link.created', subject: undefined, details: {} }
      await auditCommand(context, transaction, change)
      return createSignInLink(transaction, accountId, now)
    })
    const url = signInUrl(context.config.server.public_url, token)
    printResult(options, { url, account_id: accountId, expires_at: isoTime(now + LINK_LIFE_MS) }, url)
  })
}
