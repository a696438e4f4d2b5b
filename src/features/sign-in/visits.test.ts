import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDatabase } from '../../../test/support/database.ts'
import { MEMBER } from '../../../test/support/sign-in.ts'
import { createVisits } from './visits.ts'

test('10 000 sign-ins are remembered as ended, of more the longest ended is forgotten [limit: ended-sign-ins]', async (t) => {
  const { db } = await temporaryDatabase(t)
  const { ended } = createVisits({
    ...{ db, now: Date.now, providers: [], publicUrl: 'http://localhost', key: Buffer.alloc(32, 7) },
    people: { arrive: async () => MEMBER },
    sessions: { start: async () => '' },
    writeAudit: async () => undefined,
  })
  for (let number = 0; number < 10_000; number++) ended.set(`state ${number}`, true)
  assert.equal(ended.get('state 0'), true)
  ended.set('state 10000', true)
  assert.deepEqual([ended.size, ended.get('state 0'), ended.get('state 1')], [10_000, true, undefined])
})
