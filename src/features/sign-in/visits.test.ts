import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MEMBER } from '../../../test/support/browser/sign-in.ts'
import { temporaryDatabase, testIds } from '../../../test/support/database.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import type { AccountId, UserId } from '../../domain/ids.ts'
import { auditRefusal, createVisits } from './routes.ts'

test('10 000 completed sign-ins are remembered; beyond that the oldest is evicted [limit: ended-sign-ins]', async (t) => {
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

const ISSUER = 'https://idp.example'

test('a rejected sign-in is recorded in at most 20 accounts [limit: refused-accounts]', async (t) => {
  const { db } = await temporaryDatabase(t)
  const userId = testIds.user()
  await fill(db, userId, 21)
  const told: AuditEvent[] = []
  const writeAudit = async (_db: unknown, event: AuditEvent) => void told.push(event)
  await auditRefusal(
    { db, writeAudit },
    {
      identity: { issuer: ISSUER, subject: 'ada', email: 'ada@example.com', emailVerified: true, name: 'Ada' },
      reason: 'disabled',
      provider: 'Example',
      origin: { address: '203.0.113.7', userAgent: 'Browser', requestId: 'req_1' },
    },
  )
  assert.equal(new Set(told.map(({ accountId }) => accountId)).size, 20)
  assert.equal(told.length, 20)
})

type Db = Awaited<ReturnType<typeof temporaryDatabase>>['db']

/** Somebody who belongs to so many accounts. */
async function fill(db: Db, userId: UserId, accounts: number): Promise<void> {
  const born = { created_at: 1, changed_at: 1 }
  const ada = { email: 'ada@example.com', created_at: 1 }
  await db
    .insertInto('person')
    .values({ id: userId, name: 'Ada', ...ada, changed_at: 1 })
    .execute()
  await db
    .insertInto('identity')
    .values({ issuer: ISSUER, subject: 'ada', user_id: userId, ...ada, last_used_at: 1 })
    .execute()
  const ids = Array.from({ length: accounts }, (_, number) => `acc_${number}` as AccountId)
  await db
    .insertInto('account')
    .values(ids.map((id) => ({ id, name: id, plan: 'free', ...born })))
    .execute()
  await db
    .insertInto('member')
    .values(ids.map((id) => ({ account_id: id, user_id: userId, role: 'owner' as const, ...born })))
    .execute()
}
