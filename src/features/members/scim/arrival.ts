/** The first sign-in of somebody whom an identity provider has provisioned by SCIM. */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import type { VouchedIdentity } from '../../../domain/identity/sign-in.ts'
import type { KnownPerson } from '../queries.ts'

/**
 * Finds the person that was provisioned with a verified address, and that nobody has signed in as. Undefined where several
 * accounts provisioned the address: each has a person of its own, and none is preferred.
 */
export async function provisionedPerson(
  db: Kysely<Database>,
  { email, emailVerified }: Pick<VouchedIdentity, 'email' | 'emailVerified'>,
): Promise<KnownPerson | undefined> {
  if (!emailVerified) return undefined
  const rows = await db
    .selectFrom('scim_user')
    .innerJoin('person', 'person.id', 'scim_user.user_id')
    .leftJoin('identity', 'identity.user_id', 'scim_user.user_id')
    .select(['person.id as userId', 'person.email', 'person.name', 'person.disabled_at'])
    .where('scim_user.email_lower', '=', email.toLowerCase())
    .where('scim_user.active', '=', 1)
    .where('identity.user_id', 'is', null)
    .limit(2)
    .execute()
  const [row, another] = rows
  if (row === undefined || another !== undefined) return undefined
  const { userId, name, disabled_at } = row
  return { userId, email: row.email, name, isDisabled: disabled_at !== null }
}
