import { test } from 'node:test'
import { dialect, temporaryDatabase } from '../../../test/support/database.ts'
import { assertAsRuled } from '../../../test/support/ledger/ledger-batches.ts'
import { createLedgerStore } from './ledger/store.ts'

test(`INV-1, INV-2, INV-4, INV-6, INV-9, INV-11, INV-14: whatever is asked, in whatever batches, ${dialect} has what the rules say`, async (t) => {
  const database = await temporaryDatabase(t)
  await assertAsRuled({ database, store: createLedgerStore(database) }, { numRuns: dialect === 'sqlite' ? 100 : 40 })
})
