/** What became of the thing that a request was to make, as far as the database knows. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountId, CompletionId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'

/**
 * `under way`: it may have been done, and is still to be settled. `charged`: it was done. `nothing`: it charged
 * nothing, most often because it never came as far as a provider.
 */
export type SubjectState =
  | { readonly kind: 'under way' }
  | { readonly kind: 'charged'; readonly costNanoUsd: NanoUsd }
  | { readonly kind: 'nothing' }

/**
 * Of a completion: a provider is asked only after the hold is committed, and the hold goes in the transaction that
 * writes the completion. Hence one statement, which sees both at one moment.
 */
export async function stateOfSubject(
  db: Kysely<Database>,
  accountId: AccountId,
  subjectId: string,
): Promise<SubjectState> {
  const id = subjectId as CompletionId // ids of anything else are simply not found
  const row = await db
    .selectNoFrom(({ selectFrom }) => [
      selectFrom('hold').select('id').where('account_id', '=', accountId).where('id', '=', id).as('hold_id'),
      selectFrom('completion')
        .select('cost_nano_usd')
        .where('account_id', '=', accountId)
        .where('id', '=', id)
        .as('charged_nano_usd'),
    ])
    .executeTakeFirstOrThrow()
  if (row.hold_id !== null) return { kind: 'under way' }
  const costNanoUsd = row.charged_nano_usd ?? 0n
  return costNanoUsd > 0n ? { kind: 'charged', costNanoUsd } : { kind: 'nothing' }
}
