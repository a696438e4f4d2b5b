import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { Origin, VouchedIdentity } from '../../domain/sign-in.ts'
import type { WriteAudit } from '../deps.ts'

export interface Refusal {
  readonly identity: VouchedIdentity
  readonly reason: 'unverified' | 'domain' | 'disabled'
  /** As on the button. */
  readonly provider: string
  readonly origin: Origin
}

/** Accounts of one person that are told; nobody is in so many. */
const MAX_ACCOUNTS = 20

/** Tells the accounts of somebody whom we know that the sign-in was refused. Of strangers there is nobody to tell. */
export async function noteRefusal(
  { db, writeAudit }: { readonly db: Kysely<Database>; readonly writeAudit: WriteAudit },
  { identity, reason, provider, origin }: Refusal,
): Promise<void> {
  const members = await db
    .selectFrom('identity')
    .innerJoin('member', 'member.user_id', 'identity.user_id')
    .select(['member.account_id', 'member.user_id'])
    .where('identity.issuer', '=', identity.issuer)
    .where('identity.subject', '=', identity.subject)
    .where('member.removed_at', 'is', null)
    .limit(MAX_ACCOUNTS)
    .execute()
  for (const { account_id: accountId, user_id: userId } of members) {
    await writeAudit(db, {
      accountId,
      actor: { kind: 'session', id: userId, name: identity.email },
      action: 'sign_in.refused',
      subject: userId,
      result: 'denied',
      ...origin,
      details: { reason, provider },
    })
  }
}
