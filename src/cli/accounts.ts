/** `turnpike accounts` and `turnpike login-link`: manage accounts directly in the database. */
import { policyText } from '../domain/data-policy.ts'
import { type NanoUsd, usdNumber, usdText } from '../domain/money.ts'
import { createSignInLink, LINK_LIFE_MS, signInUrl } from '../features/accounts/bootstrap.ts'
import {
  type Account,
  createAccount,
  listAccounts,
  renderAccount,
  updateAccount,
} from '../features/accounts/queries.ts'
import { noSuchPlan } from '../features/accounts/shapes.ts'
import { isoTime } from '../lib/time.ts'
import { accountNamed, auditCommand, type CommandContext, chosenAccount, EVERYTHING, withDatabase } from './database.ts'
import { wrongUsage } from './option-values.ts'
import { type JsonOption, plainLine, plainTable, printPage, printResult, timeText } from './output.ts'

export interface AccountsCreateOptions extends JsonOption {
  readonly name: string
  readonly plan?: string
}

/** Prints the ID of the new account and nothing else. */
export async function accountsCreate({ json = false, ...account }: AccountsCreateOptions): Promise<void> {
  await withDatabase(async (context) => {
    const created = await addAccount(context, account)
    printResult({ json }, renderAccount(created), created.id)
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
    if (json === true) printPage(accounts.map(renderAccount))
    else process.stdout.write(accountsTable(accounts))
  })
}

export async function accountsSetPlan(named: string, plan: string, options: JsonOption = {}): Promise<void> {
  await withDatabase(async (context) => {
    const account = await changePlan(context, named, plan)
    printResult(options, renderAccount(account), `Account ${plainLine(account.name)} is on plan ${plan}.`)
  })
}

/** Changes the plan of an account. Every process applies it within a second. */
export async function changePlan(context: CommandContext, named: string, plan: string): Promise<Account> {
  const chosen = configuredPlan(context, plan)
  const { id } = await accountNamed(context.db, named)
  const account = await context.db.transaction().execute(async (transaction) => {
    const updated = await updateAccount(transaction, { id, plan: chosen }, context.now())
    if (updated === undefined) throw new Error(`Account ${named} was deleted.`)
    const change = { accountId: updated.id, action: 'account.changed', subject: id, details: { plan: chosen } }
    await auditCommand(context, transaction, change)
    return updated
  })
  await context.credit.read(account)
  return account
}

/** @param overrun Null: the overrun cap of its plan. */
export async function accountsSetOverrun(
  named: string,
  overrun: NanoUsd | null,
  options: JsonOption = {},
): Promise<void> {
  await withDatabase(async (context) => {
    const account = await accountNamed(context.db, named)
    const { id } = account
    const usd = overrun === null ? null : usdNumber(overrun)
    const details = { max_overrun_usd: usd }
    await auditCommand(context, context.db, { accountId: id, action: 'account.changed', subject: id, details })
    await context.credit.configure(account, { maxOverrunNanoUsd: overrun })
    const text = usd === null ? 'the overrun cap of its plan' : `an overrun cap of $${usdText(overrun ?? 0n)}`
    printResult(options, { ...renderAccount(account), ...details }, `Account ${plainLine(account.name)} has ${text}.`)
  })
}

export interface AccountsPolicyOptions extends JsonOption {
  readonly dataCollection?: 'allow' | 'deny'
  readonly zdr?: boolean
  readonly regions?: string[]
}

/** Replaces the data policy of an account. Every process applies it within a second. */
export async function accountsSetPolicy(
  named: string,
  { json = false, dataCollection, zdr, regions }: AccountsPolicyOptions,
): Promise<void> {
  const dataPolicy = { dataCollection, zdr, regions }
  await withDatabase(async (context) => {
    const { id } = await accountNamed(context.db, named)
    const account = await context.db.transaction().execute(async (inside) => {
      const updated = await updateAccount(inside, { id, dataPolicy }, context.now())
      if (updated === undefined) throw new Error(`Account ${named} was deleted.`)
      const details = { data_policy: policyText(dataPolicy) }
      await auditCommand(context, inside, { accountId: updated.id, action: 'account.changed', subject: id, details })
      return updated
    })
    const text = policyText(dataPolicy) === null ? 'no data policy' : `the data policy ${policyText(dataPolicy)}`
    printResult({ json }, renderAccount(account), `Account ${plainLine(account.name)} has ${text}.`)
  })
}

function configuredPlan({ config }: CommandContext, plan: string): string {
  if (Object.hasOwn(config.plans, plan)) return plan
  throw wrongUsage(noSuchPlan(plan, Object.keys(config.plans)))
}

function accountsTable(accounts: readonly Account[]): string {
  const rows = accounts.map(({ id, name, plan, createdAt }) => [id, name, plan, timeText(isoTime(createdAt))])
  return plainTable(['ID', 'NAME', 'PLAN', 'CREATED'], rows)
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
