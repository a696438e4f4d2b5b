/** One-time links with which an account's owner signs in to the dashboard where there is no identity provider. */
import { hash, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountId } from '../../domain/ids.ts'

const TOKEN_BYTES = 32
const VALID_MS = 15 * 60_000

/** A token that is good once, for 15 minutes. Only its SHA-256 is kept. `now` is Unix milliseconds. */
export async function createSignInLink(db: Kysely<Database>, accountId: AccountId, now: number): Promise<string> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const row = { hash: hash('sha256', token, 'buffer'), account_id: accountId, used_at: null }
  await db
    .insertInto('sign_in_link')
    .values({ ...row, created_at: now, expires_at: now + VALID_MS })
    .execute()
  return token
}

/** The page that takes the token. It stands behind `#`, which browsers do not send: it gets into no server's log. */
export function signInUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/app/sign-in#token=${token}`
}

/** Uses a link up: of several who try at once, one gets the account. Undefined when it is wrong, old, or was used. */
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
