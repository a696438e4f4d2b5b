/** The first sign-in of somebody whom an identity provider has provisioned by SCIM. */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import type { VouchedIdentity } from '../../../domain/identity/sign-in.ts'
import type { KnownPerson } from '../queries.ts'

/** Accounts whose provisioned people sign in with an issuer; undefined: the configuration names none. */
export type ProvisionedAccounts = (issuer: string) => ReadonlySet<string> | undefined

/** Accounts that provisioned one address and are looked at. */
const MOST_ACCOUNTS = 100

/**
 * Finds the person that was provisioned with a verified address, and that nobody has signed in as. An account can provision
 * any address: what it provisions counts only where the operator trusts it with people of this issuer, or where the
 * installation has no other account. Undefined where several such accounts provisioned the address: none is preferred.
 */
export async function provisionedPerson(
  db: Kysely<Database>,
  { issuer, email, emailVerified }: Pick<VouchedIdentity, 'issuer' | 'email' | 'emailVerified'>,
  accountsOf: ProvisionedAccounts,
): Promise<KnownPerson | undefined> {
  if (!emailVerified) return undefined
  const trusted = await accountsTrusting(db, issuer, accountsOf)
  const rows = await db
    .selectFrom('scim_user')
    .innerJoin('person', 'person.id', 'scim_user.user_id')
    .leftJoin('identity', 'identity.user_id', 'scim_user.user_id')
    .select(['scim_user.account_id', 'person.id as userId', 'person.email', 'person.name', 'person.disabled_at'])
    .where('scim_user.email_lower', '=', email.toLowerCase())
    .where('scim_user.active', '=', 1)
    .where('identity.user_id', 'is', null)
    .limit(MOST_ACCOUNTS)
    .execute()
  const [row, another] = rows.filter(({ account_id: accountId }) => trusted.has(accountId))
  if (row === undefined || another !== undefined) return undefined
  const { userId, name, disabled_at } = row
  return { userId, email: row.email, name, isDisabled: disabled_at !== null }
}

/** Accounts whose people an issuer vouches for. */
export async function accountsTrusting(
  db: Kysely<Database>,
  issuer: string,
  accountsOf: ProvisionedAccounts,
): Promise<ReadonlySet<string>> {
  return accountsOf(issuer) ?? (await onlyAccount(db))
}

async function onlyAccount(db: Kysely<Database>): Promise<ReadonlySet<string>> {
  const accounts = await db.selectFrom('account').select('id').limit(2).execute()
  return new Set(accounts.length === 1 ? accounts.map(({ id }) => id) : [])
}
