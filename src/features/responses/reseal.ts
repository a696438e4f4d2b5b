/**
 * While the installation's secret is being changed, what the previous one sealed is sealed again, so that it is still
 * readable when the previous one is gone.
 */
import type { Kysely } from 'kysely'
import type { Database, ResponseTable } from '../../db/schema/schema.ts'
import { every, type JobKind } from '../../jobs/job.ts'
import { keyName, openContent, type ResponseKeys, sealContent } from './content.ts'

interface ResealInput {
  readonly db: Kysely<Database>
  readonly keys: ResponseKeys
}

/** Again: a process that still has nothing but the old secret may have stored responses meanwhile. */
const EVERY_MS = 300_000
/** Rows that are read at once, which may each be as large as `responses.max_bytes`. */
const PAGE_ROWS = 20

/** None unless there is a previous key. */
export function resealJobs(input: ResealInput): Readonly<Record<string, JobKind>> {
  if (input.keys.previous === undefined) return {}
  return {
    'responses.reseal': every(EVERY_MS, async (_job, { signal }) => void (await resealResponses(input, signal))),
  }
}

/** @returns How many were sealed again. */
export async function resealResponses({ db, keys }: ResealInput, signal?: AbortSignal): Promise<number> {
  let total = 0
  for (let rows = await pageAfter(db, keys); rows.length > 0; rows = await pageAfter(db, keys, rows.at(-1))) {
    signal?.throwIfAborted()
    for (const row of rows) if (await resealOne(db, row, keys)) total++
  }
  return total
}

type SealedRow = Pick<ResponseTable, 'account_id' | 'id' | 'content'>

function pageAfter(db: Kysely<Database>, { current }: ResponseKeys, last?: SealedRow): Promise<readonly SealedRow[]> {
  return db
    .selectFrom('response')
    .select(['account_id', 'id', 'content'])
    .where('sealed_with', '<>', keyName(current))
    .$if(last !== undefined, (query) =>
      query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('account_id', 'id'), '>', tuple(last?.account_id ?? ('' as never), last?.id ?? '')),
      ),
    )
    .orderBy('account_id')
    .orderBy('id')
    .limit(PAGE_ROWS)
    .execute()
}

/** @returns false for what no key opens. */
async function resealOne(db: Kysely<Database>, row: SealedRow, keys: ResponseKeys): Promise<boolean> {
  const reference = { accountId: row.account_id, id: row.id }
  const content = openContent(row.content, reference, keys)
  if (content === undefined) return false
  await db
    .updateTable('response')
    .set({ content: sealContent(content, reference, keys), sealed_with: keyName(keys.current) })
    .where('account_id', '=', row.account_id)
    .where('id', '=', row.id)
    .execute()
  return true
}
