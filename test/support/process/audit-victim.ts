/**
 * A process of its own that audits a ledger at a fiftieth of its time, says each time how many rows it has read when it has
 * kept its progress, and waits to be killed. Arguments: the database's path, and the audit's id.
 */
import { runAudit } from '../../../src/features/credit/audit/run.ts'
import { findAudit } from '../../../src/features/credit/audit/store.ts'
import { openLocation } from '../database.ts'

const [, , path = '', id = ''] = process.argv
const { db } = await openLocation(path)
const audit = await findAudit(db, id)
if (audit === undefined) throw new Error(`There is no audit ${id}.`)
await runAudit(
  {
    db,
    now: Date.now,
    allowances: undefined,
    share: 0.02,
    onProgress: ({ progress }) => process.stdout.write(`${progress.rows}\n`),
  },
  audit,
)
process.stdout.write('ended\n')
