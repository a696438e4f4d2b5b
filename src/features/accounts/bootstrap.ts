/** First start of an installation: the first account, its first key, and one-time links to sign in without a provider. */

import { hash, randomBytes } from 'node:crypto'
import type { Kysely, Transaction } from 'kysely'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { AccountId, IdSource } from '../../domain/ids.ts'
import { createAccount } from './queries.ts'

const FIRST_ACCOUNT_NAME = 'Default'
/** Advisory lock of the creation of the first account and key. */
const FIRST_START = 'first start'
const TOKEN_BYTES = 32
export const LINK_LIFE_MS = 15 * 60_000

interface CreationDeps {
  readonly now: () => number
  readonly ids: IdSource
}

/** Returns the first account, and creates it if there is none. Concurrent processes get the same one. */
export async function ensureFirstAccount(db: Kysely<Database>, plan: string, deps: CreationDeps): Promise<AccountId> {
  const known = await readSetting(db, 'first_account')
  if (known !== undefined) return known as AccountId
  if (!db.isTransaction) {
    return db.transaction().execute(async (inside) => {
      await acquireAdvisoryLock(inside, FIRST_START)
      return ensureFirstAccount(inside, plan, deps)
    })
  }
  const { id } = await createAccount(db, { name: FIRST_ACCOUNT_NAME, plan }, deps)
  await db.insertInto('setting').values({ key: 'first_account', value: id }).execute()
  return id
}

/** Creates a key of the account inside the transaction. */
export type CreateFirstKey = (
  inside: Transaction<Database>,
  accountId: AccountId,
) => Promise<{ readonly id: string; readonly secret: string }>

export interface FirstStart {
  readonly accountId: AccountId
  /** Secret of the first key, only on the first start of the installation. */
  readonly secret: string | undefined
}

/** Returns the first account and, the first time this is called on a database, creates its first key. */
export async function ensureFirstStart(
  db: Kysely<Database>,
  { plan, createFirstKey }: { readonly plan: string; readonly createFirstKey: CreateFirstKey },
  deps: CreationDeps,
): Promise<FirstStart> {
  const accountId = await ensureFirstAccount(db, plan, deps)
  if ((await readSetting(db, 'first_key')) !== undefined) return { accountId, secret: undefined }
  return db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, FIRST_START)
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

/** Returns a token that is valid once, for 15 minutes. Only its SHA-256 is stored. `now` is Unix milliseconds. */
export async function createSignInLink(db: Kysely<Database>, accountId: AccountId, now: number): Promise<string> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const row = { hash: hash('sha256', token, 'buffer'), account_id: accountId, used_at: null }
  await db
    .insertInto('sign_in_link')
    .values({ ...row, created_at: now, expires_at: now + LINK_LIFE_MS })
    .execute()
  return token
}

/** The page that redeems the token, which is in the fragment: browsers do not send it, so no server logs it. */
export function signInUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/app/sign-in#token=${token}`
}

/** Redeems a link, once even under concurrency. Undefined when it is wrong, expired or used. */
export async function redeemSignInLink(
  db: Kysely<Database>,
  token: string,
  now: number,
): Promise<AccountId | undefined> {
  const row = await db
    .updateTable('sign_in_link')
    .set({ used_at: now })
    .where('hash', '=', hash('sha256', token, 'buffer'))
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('account_id')
    .executeTakeFirst()
  return row?.account_id
}
