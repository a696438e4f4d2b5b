/** Opens the configured database for commands that act on it directly; the gateway may be running. */
import { randomBytes } from 'node:crypto'
import { userInfo } from 'node:os'
import type { Kysely } from 'kysely'
import type { Config } from '../config/schema.ts'
import type { OpenedDatabase } from '../db/database.ts'
import { ensureSchema } from '../db/migrate.ts'
import { databaseLocation, openDatabase } from '../db/open.ts'
import type { Database } from '../db/schema/schema.ts'
import type { AuditEvent } from '../domain/audit.ts'
import { type AccountId, createIdSource, type IdSource } from '../domain/ids.ts'
import { ensureFirstAccount } from '../features/accounts/bootstrap.ts'
import { type Account, type AccountPage, findAccountsNamed } from '../features/accounts/queries.ts'
import { auditWriter } from '../features/audit/log.ts'
import { type CreditService, createAccountCredit } from '../features/credit/account-credit.ts'
import { recordPlanAllowances } from '../features/credit/audit/store.ts'
import { LEDGER_PROGRAMS } from '../features/credit/ledger/sqlite/store.ts'
import { createLedgerStore } from '../features/credit/ledger/store.ts'
import { type Outcome, type PlanTerms, planTerms, type Unit } from '../features/credit/ledger/unit.ts'
import { loadCliConfig } from './configuration.ts'
import type { JsonOption } from './output.ts'

export interface AccountOption extends JsonOption {
  readonly account?: string
}

/** A page with all rows. */
export const EVERYTHING: AccountPage = { limit: Number.MAX_SAFE_INTEGER, order: 'asc' }

export interface CommandContext extends Ledger {
  readonly db: Kysely<Database>
  readonly config: Config
  readonly now: () => number
  readonly ids: IdSource
}

/**
 * Runs an action on the database and closes it. A missing SQLite file is created; a PostgreSQL database must have the
 * current schema.
 * @param configuration By default that of this process.
 */
export async function withDatabase<Result>(
  action: (context: CommandContext) => Promise<Result>,
  configuration?: Config,
): Promise<Result> {
  const config = configuration ?? (await loadCliConfig())
  const database = await openDatabase(databaseLocation(config, LEDGER_PROGRAMS))
  const { db, close } = database
  try {
    await ensureSchema(database, { mayMigrate: false, now: Date.now })
    const terms = Object.entries(config.plans).map(([name, plan]) => [name, planTerms(plan)] as const)
    await recordPlanAllowances(db, new Map(terms), Date.now())
    const ids = createIdSource(Date.now, randomBytes)
    return await action({ db, config, now: Date.now, ids, ...openLedger(database, config) })
  } finally {
    await close()
  }
}

/** Returns the account of `--account`, an ID or a name; by default the first one. Throws when it does not exist. */
export async function chosenAccount(context: CommandContext, named: string | undefined): Promise<Account> {
  const { db, config } = context
  if (named !== undefined) return accountNamed(db, named)
  const account = await accountNamed(db, await ensureFirstAccount(db, config.accounts.default_plan, context))
  await context.credit.read(account) // a new account receives its allowance
  return account
}

/** Finds an account by its ID or name. Throws where none has it, or several do. */
export async function accountNamed(db: Kysely<Database>, text: string): Promise<Account> {
  const [account, ...others] = await findAccountsNamed(db, text)
  if (account === undefined)
    throw new Error(`Account ${text} does not exist. Run 'turnpike accounts list' to see all accounts.`)
  if (others.length === 0) return account
  throw severalNamed('accounts', text, [account, ...others])
}

/** @param what Plural, such as `keys`. */
export function severalNamed(what: string, name: string, found: readonly { readonly id: string }[]): Error {
  return new Error(`Several ${what} have the name '${name}': ${found.map(({ id }) => id).join(', ')}. Pass an ID.`)
}

export async function accountNames(db: Kysely<Database>): Promise<ReadonlyMap<AccountId, string>> {
  const rows = await db.selectFrom('account').select(['id', 'name']).execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

type Change = Pick<AuditEvent, 'accountId' | 'action' | 'subject' | 'details'>

/** Records a change in the audit log of its account. */
export async function auditCommand(
  context: Pick<CommandContext, 'now' | 'ids'>,
  db: Kysely<Database>,
  change: Change,
): Promise<void> {
  await auditWriter(context)(db, { ...commandOrigin(change.accountId), ...change, result: 'done' })
}

/** What the audit log records of a command. */
export function commandOrigin(accountId: AccountId) {
  const actor = { kind: 'command_line', id: undefined, name: systemUser() } as const
  return { accountId, actor, address: undefined, userAgent: undefined, requestId: undefined }
}

/** Undefined if the user has no name, as in some containers. */
function systemUser(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}

interface Ledger {
  readonly credit: CreditService
  /** Commits units in one transaction and returns an outcome for each. */
  readonly commit: (units: readonly Unit[]) => Promise<readonly Outcome[]>
  readonly termsOf: (plan: string) => PlanTerms
}

/** Opens the ledger with the rules and the store of the gateway, but without its commit queue. */
export function openLedger(database: OpenedDatabase, { plans }: Pick<Config, 'plans'>): Ledger {
  const store = createLedgerStore(database)
  const commit = (units: readonly Unit[]) => store.commit({ units })
  const termsOf = (plan: string) => planTerms(plans[plan])
  const submit = async (unit: Unit): Promise<Outcome> => {
    const [outcome] = await commit([unit])
    if (outcome === undefined) throw new Error('The ledger returned no outcome.')
    return outcome
  }
  return { commit, termsOf, credit: createAccountCredit({ db: database.db, now: Date.now, submit, termsOf }) }
}
