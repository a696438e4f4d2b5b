/** The database that the configuration names, for commands that act on it, also while the service runs. */
import { randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Config } from '../config/schema.ts'
import { databaseFile } from '../db/file.ts'
import { migrate } from '../db/migrate.ts'
import { openDatabase } from '../db/open.ts'
import type { Database } from '../db/schema.ts'
import { type AccountId, createIdSource, type IdSource } from '../domain/ids.ts'
import { ensureFirstAccount } from '../features/accounts/first-account.ts'
import { findAccount } from '../features/accounts/queries.ts'
import { loadCliConfig } from './context.ts'

export interface CommandContext {
  readonly db: Kysely<Database>
  readonly config: Config
  readonly now: () => number
  readonly ids: IdSource
}

/** Runs a command on the open database, with the current schema, and closes it. Makes what is not there yet. */
export async function withDatabase(action: (context: CommandContext) => Promise<void>): Promise<void> {
  const config = await loadCliConfig()
  refusePostgres(config)
  const { db, close } = await openDatabase({ path: databaseFile(config.data_dir) })
  try {
    await migrate(db, Date.now)
    await action({ db, config, now: Date.now, ids: createIdSource(Date.now, randomBytes) })
  } finally {
    await close()
  }
}

/** The account that `--account` names, else the one of the first start. Throws when there is no such account. */
export async function chosenAccount(
  { db, config, now, ids }: CommandContext,
  id: string | undefined,
): Promise<AccountId> {
  if (id === undefined) return ensureFirstAccount(db, config.accounts.default_plan, { now, ids })
  const account = await findAccount(db, id as AccountId)
  if (account === undefined) throw unknownAccount(id)
  return account.id
}

export function unknownAccount(id: string): Error {
  return new Error(`There is no account ${id}; 'turnpike accounts list' shows them.`)
}

/** Throws where the configuration names a database that this release cannot use. */
export function refusePostgres({ database_url }: Pick<Config, 'database_url'>): void {
  if (database_url === undefined) return
  throw new Error('database_url is set, but this release keeps its data in SQLite: unset DATABASE_URL.')
}
