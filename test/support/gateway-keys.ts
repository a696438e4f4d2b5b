/**
 * Keys and accounts of a running gateway, made as `turnpike keys create` and `turnpike accounts create` make them, in this
 * process: a command is a process of its own, which costs ten times as much as what it does.
 */
import { randomBytes } from 'node:crypto'
import { builtIn } from '../../src/cli/context.ts'
import { openLedger } from '../../src/cli/ledger.ts'
import { loadConfig } from '../../src/config/load.ts'
import { openDatabase } from '../../src/db/open.ts'
import { placeOf } from '../../src/db/place.ts'
import { SCOPES } from '../../src/domain/caller.ts'
import { type AccountId, createIdSource } from '../../src/domain/ids.ts'
import { ensureFirstAccount } from '../../src/features/accounts/first-account.ts'
import { type Account, createAccount, findAccount } from '../../src/features/accounts/queries.ts'
import { LEDGER_PROGRAMS } from '../../src/features/credit/sqlite-store.ts'
import { createKey, FULL_ACCESS } from '../../src/features/keys/queries.ts'

/** What a command would be started with. */
export interface Installation {
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
}

export interface WantedKey {
  /** An account's id; `new`: of an account made now; else the first account. */
  readonly account?: string
  readonly operator?: boolean
}

/** @returns The secret of a key with full access. */
export async function makeKey({ env, cwd }: Installation, { account, operator = false }: WantedKey): Promise<string> {
  const config = await loadConfig({ env, cwd, builtIn: builtIn() })
  const database = await openDatabase(placeOf(config, LEDGER_PROGRAMS))
  try {
    const { db } = database
    const born = { now: Date.now, ids: createIdSource(Date.now, randomBytes) }
    const plan = config.accounts.default_plan
    const chosen: Account | undefined =
      account === 'new'
        ? await createAccount(db, { name: 'test', plan }, born)
        : await findAccount(db, (account ?? (await ensureFirstAccount(db, plan, born))) as AccountId)
    if (chosen === undefined) throw new Error(`There is no account ${account}.`)
    if (account === undefined || account === 'new') await openLedger(database, config).credit.read(chosen) // its allowance is due
    const rights = operator ? { ...FULL_ACCESS, scopes: SCOPES } : FULL_ACCESS
    return (await createKey(db, { ...rights, accountId: chosen.id, name: 'test' }, born)).secret
  } finally {
    await database.close()
  }
}
