/** The database that the configuration names, for commands that act on it, also while the service runs. */
import { randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Config } from '../config/schema.ts'
import { ensureSchema } from '../db/migrate.ts'
import { openDatabase } from '../db/open.ts'
import { placeOf } from '../db/place.ts'
import type { Database } from '../db/schema.ts'
import { type AccountId, createIdSource, type IdSource } from '../domain/ids.ts'
import { ensureFirstAccount } from '../features/accounts/first-account.ts'
import { type Account, type AccountPage, findAccount } from '../features/accounts/queries.ts'
import { recordPlanAllowances } from '../features/credit/audit/allowances.ts'
import { planTerms } from '../features/credit/plan-terms.ts'
import { LEDGER_PROGRAMS } from '../features/credit/sqlite-store.ts'
import { loadCliConfig } from './context.ts'
import { type Ledger, openLedger } from './ledger.ts'

/** Commands list all there is. */
export const EVERYTHING: AccountPage = { limit: Number.MAX_SAFE_INTEGER, order: 'asc' }

export interface CommandContext extends Ledger {
  readonly db: Kysely<Database>
  readonly config: Config
  readonly now: () => number
  readonly ids: IdSource
}

/** Runs a command on the open database, with the current schema, and closes it. Makes what is not there yet, on PostgreSQL nothing. */
export async function withDatabase(action: (context: CommandContext) => Promise<void>): Promise<void> {
  const config = await loadCliConfig()
  const database = await openDatabase(placeOf(config, LEDGER_PROGRAMS))
  const { db, close } = database
  try {
    await ensureSchema(database, { mayMigrate: false, now: Date.now })
    const terms = Object.entries(config.plans).map(([name, plan]) => [name, planTerms(plan)] as const)
    await recordPlanAllowances(db, new Map(terms), Date.now())
    const born = { now: Date.now, ids: createIdSource(Date.now, randomBytes) }
    await action({ db, config, ...born, ...openLedger(database, config) })
  } finally {
    await close()
  }
}

/** The account that `--account` names, else the one of the first start. Throws when there is no such account. */
export async function chosenAccount(context: CommandContext, id: string | undefined): Promise<Account> {
  const { db, config } = context
  const chosen = id ?? (await ensureFirstAccount(db, config.accounts.default_plan, context))
  const account = await findAccount(db, chosen as AccountId)
  if (account === undefined) throw unknownAccount(chosen)
  if (id === undefined) await context.credit.read(account) // it may have been made just now: its allowance is due
  return account
}

export function unknownAccount(id: string): Error {
  return new Error(`There is no account ${id}; 'turnpike accounts list' shows them.`)
}
