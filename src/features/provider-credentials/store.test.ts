import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../../test/support/database.ts'
import { openCreditFixture } from '../../../test/support/ledger/credit-service.ts'
import { type AttemptNote, type AttemptOutcome, COMPLETION_CHANNEL } from '../../domain/completion.ts'
import { MAX_REMEMBERED, watchCredentialStatuses } from './store.ts'

async function setUp(t: TestContext) {
  const { db, account, clock, now } = await openCreditFixture(t)
  const { id: accountId } = await account('pro')
  const id = testIds.providerCredential()
  const row = {
    account_id: accountId,
    id,
    provider: 'up',
    key_id: null,
    name: '',
    last4: '',
    allow_fallback: 0,
  } as const
  const values = { ...row, secret: Buffer.alloc(60), status: 'untested', created_at: now() } as const
  await db.insertInto('provider_credential').values(values).execute()
  const watch = () =>
    watchCredentialStatuses({ db, now, log: { warn: (fields) => assert.fail(JSON.stringify(fields)) } })
  const publish = (outcome: AttemptOutcome, credentialId: AttemptNote['credentialId'] | undefined = id) => {
    const note = { provider: 'up', model: 'm', outcome, status: 0, startedMs: 0, durationMs: 0, credentialId }
    channel(COMPLETION_CHANNEL).publish({ record: { accountId, attemptLog: [note] } })
  }
  const status = async () =>
    (await db.selectFrom('provider_credential').select('status').executeTakeFirstOrThrow()).status
  return { db, clock, watch, publish, status }
}

test('an answer verifies a credential, a refusal marks it; other failures say nothing about it', async (t) => {
  const { watch, publish, status } = await setUp(t)
  for (const [outcome, expected] of [
    ['failed', 'untested'],
    ['answered', 'verified'],
    ['rate_limited', 'verified'],
    ['credentials', 'refused'],
    ['overloaded', 'refused'],
  ] as const) {
    const watching = watch()
    publish(outcome)
    await watching.close()
    assert.equal(await status(), expected, outcome)
  }
})

test('the same status is written at most once a minute [limit: credential-statuses]', async (t) => {
  assert.equal(MAX_REMEMBERED, 10_000)
  const { db, clock, watch, publish, status } = await setUp(t)
  const watching = watch()
  publish('answered')
  publish('answered')
  await watching.close()
  assert.equal(await status(), 'verified')
  const again = watch()
  publish('quota')
  clock.now += 59_999
  publish('quota')
  await again.close()
  await db.updateTable('provider_credential').set({ status: 'untested' }).execute()
  const last = watch()
  publish('quota')
  await last.close()
  assert.equal(await status(), 'refused')
})
