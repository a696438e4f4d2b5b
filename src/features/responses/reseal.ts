/** Seals stored responses again while the installation's secret is being changed. */
import type { Kysely } from 'kysely'
import type { Database, ResponseTable } from '../../db/schema/schema.ts'
import { keyName, type SealerKeys } from '../../db/sealed.ts'
import type { JobKind } from '../../jobs/job.ts'
import { pageAfter, resealJob, resealRows } from '../../jobs/reseal.ts'
import { openContent, sealContent } from './store.ts'

interface ResealInput {
  readonly db: Kysely<Database>
  readonly keys: SealerKeys
}

/** Small, since a row may be as large as `responses.max_bytes`. */
const PAGE_ROWS = 20

/** None unless there is a previous key. */
export function resealJobs(input: ResealInput): Readonly<Record<string, JobKind>> {
  if (input.keys.previous === undefined) return {}
  return resealJob('responses.reseal', (signal) => resealResponses(input, signal))
}

/** @returns The number of responses. */
export function resealResponses({ db, keys }: ResealInput, signal?: AbortSignal): Promise<number> {
  const page = (last: SealedRow | undefined) =>
    db
      .selectFrom('response')
      .select(['account_id', 'id', 'content'])
      .where('sealed_with', '<>', keyName(keys.current))
      .$call(pageAfter(last, PAGE_ROWS))
      .execute()
  return resealRows({ page, reseal: (row) => resealOne(db, row, keys) }, signal)
}

type SealedRow = Pick<ResponseTable, 'account_id' | 'id' | 'content'>

/** @returns false if no key opens it. */
async function resealOne(db: Kysely<Database>, row: SealedRow, keys: SealerKeys): Promise<boolean> {
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
