/** Who may receive e-mail: an account must not send it to people who did not ask for it. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import type { AccountId } from '../../domain/ids.ts'

/** How e-mail leaves. */
export interface SmtpSettings {
  readonly host: string
  readonly port: number
  readonly security: 'starttls' | 'tls' | 'none'
  readonly user?: string
  readonly password?: string
  /** Address of the sender. */
  readonly from: string
}

export interface MailRules {
  /** Undefined: there is no e-mail. */
  readonly smtp: SmtpSettings | undefined
  /** Domains that receive e-mail beside the members of an account; `*`: all. */
  readonly recipientDomains: readonly string[]
}

/** One address, without display name, quotes and anything that a header could be extended with. */
const RECIPIENT = /^mailto:([a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,8})$/i

/** @returns The address of `mailto:`; undefined: it is none. */
export function recipientOf(url: string): string | undefined {
  return RECIPIENT.exec(url)?.[1]
}

interface Recipient {
  readonly accountId: AccountId
  readonly address: string
  readonly domains: readonly string[]
}

export async function mayReceiveMail(
  db: Kysely<Database>,
  { accountId, address, domains }: Recipient,
): Promise<boolean> {
  const wanted = address.toLowerCase()
  const domain = wanted.slice(wanted.lastIndexOf('@') + 1)
  if (domains.some((each) => each === '*' || each.toLowerCase() === domain)) return true
  const members = await db
    .selectFrom('member')
    .innerJoin('person', 'person.id', 'member.user_id')
    .select('person.email')
    .where('member.account_id', '=', accountId)
    .where('member.removed_at', 'is', null)
    .execute()
  return members.some(({ email }) => email.toLowerCase() === wanted)
}
