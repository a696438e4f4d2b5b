/** What a new installation has: one account, and one key to it, whose secret is told once. */
import type { Kysely, Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { takeTurn } from '../../db/turn.ts'
import type { AccountId, IdSource } from '../../domain/ids.ts'
import { createAccount } from './queries.ts'

const FIRST_ACCOUNT_NAME = 'Default'
/** Taken by whoever makes what an installation has once. */
const FIRST_START = 'first start'

interface Born {
  readonly now: () => number
  readonly ids: IdSource
}

/** The account of the first start, made now if there is none yet. Processes that ask at the same time get the same. */
export async function ensureFirstAccount(db: Kysely<Database>, plan: string, born: Born): Promise<AccountId> {
  const known = await readSetting(db, 'first_account')
  if (known !== undefined) return known as AccountId
  if (!db.isTransaction) {
    return db.transaction().execute(async (inside) => {
      await takeTurn(inside, FIRST_START)
      return ensureFirstAccount(inside, plan, born)
    })
  }
  const { id } = await createAccount(db, { name: FIRST_ACCOUNT_NAME, plan }, born)
  await db.insertInto('setting').values({ key: 'first_account', value: id }).execute()
  return id
}

/** Makes a key of the account inside the transaction. */
export type CreateFirstKey = (
  inside: Transaction<Database>,
  accountId: AccountId,
) => Promise<{ readonly id: string; readonly secret: string }>

export interface FirstStart {
  readonly accountId: AccountId
  /** The first key, on the installation's first start; undefined ever after. */
  readonly secret: string | undefined
}

/** The first account, and its first key the first time this is called on a database. */
export async function ensureFirstStart(
  db: Kysely<Database>,
  { plan, createFirstKey }: { readonly plan: string; readonly createFirstKey: CreateFirstKey },
  born: Born,
): Promise<FirstStart> {
  const accountId = await ensureFirstAccount(db, plan, born)
  if ((await readSetting(db, 'first_key')) !== undefined) return { accountId, secret: undefined }
  return db.transaction().execute(async (inside) => {
    await takeTurn(inside, FIRST_START)
    if ((await readSetting(inside, 'first_key')) !== undefined) return { accountId, secret: undefined }
    const { id, secret } = await createFirstKey(inside, accountId)
    await inside.insertInto('setting').values({ key: 'first_key', value: id }).execute()
    return { accountId, secret }
  })
}

async function readSetting(db: Kysely<Database>, key: 'first_account' | 'first_key'): Promise<string | undefined> {
  const row = await db.selectFrom('setting').select('value').where('key', '=', key).executeTakeFirst()
  return row?.value
}
