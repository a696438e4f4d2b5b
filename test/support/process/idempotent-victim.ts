/**
 * A process of its own that takes an idempotency key and does nothing more, so that it can be killed while it has it.
 * Arguments: the database's path, the subject's id, `held` if it also opens a hold.
 */
import { openLocation } from '../database.ts'
import { ask, beginRun, openHold, openKeys } from '../ledger/idempotency.ts'

const [, , path = '', subjectId = '', held] = process.argv
const database = await openLocation(path)
const port = openKeys(database, { instanceId: 'ins_victim' })
port.start()
await beginRun(port, ask({ subjectId }))
if (held === 'held') await openHold(database, subjectId, 'ins_victim')
process.stdout.write('it runs\n')
setInterval(() => {}, 1_000)
