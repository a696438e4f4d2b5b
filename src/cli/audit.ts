/** What the command line changes is in the audit log of the account that it concerns. */
import { userInfo } from 'node:os'
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema.ts'
import type { AuditEvent } from '../domain/audit.ts'
import { auditWriter } from '../features/audit/write.ts'
import type { CommandContext } from './database.ts'

type Change = Pick<AuditEvent, 'accountId' | 'action' | 'subject' | 'details'>

export async function auditCommand(
  context: Pick<CommandContext, 'now' | 'ids'>,
  db: Kysely<Database>,
  change: Change,
): Promise<void> {
  const actor = { kind: 'command_line', id: undefined, name: systemUser() } as const
  const from = { address: undefined, userAgent: undefined, requestId: undefined }
  await auditWriter(context)(db, { ...change, ...from, actor, result: 'done' })
}

/** Undefined where the system knows the user by number alone, as in some containers. */
function systemUser(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}
