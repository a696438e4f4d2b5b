import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDatabase } from '../../test/support/database.ts'
import type { AccountId, KeyId } from '../domain/ids.ts'
import { createLastUsed, MAX_UNWRITTEN_USES, type Used } from './last-used.ts'

test(`the last uses of ${MAX_UNWRITTEN_USES} credentials wait to be written, and no more [limit: last-uses]`, async (t) => {
  const { db } = await temporaryDatabase(t)
  for (const table of ['api_key', 'device'] as const) {
    let written = 0
    const batch = async (statements: readonly unknown[]) => {
      written += statements.length
    }
    const row = ['acc_a' as AccountId, 'key_a' as KeyId] as const
    const uses = createLastUsed<Used>({ db, batch, table, rowOf: () => row })
    for (let id = 0; id <= MAX_UNWRITTEN_USES; id++) uses.note({ unwrittenUseAt: undefined }, 1)
    await uses.close()
    assert.equal(written, MAX_UNWRITTEN_USES)
  }
})
