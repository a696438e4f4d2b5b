import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDatabase, testIds } from '../../../test/support/database.ts'
import type { AccountId, WebhookId } from '../../domain/ids.ts'
import { createWebhookSecrets, resealSecrets } from './secrets.ts'

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const [ONE, OTHER] = ['whk_one' as WebhookId, 'whk_other' as WebhookId]

test('a secret opens for its own endpoint alone', () => {
  const secrets = createWebhookSecrets({ current: NEW })
  const sealed = secrets.seal('whsec_x', ONE)
  assert.equal(secrets.open(sealed, ONE), 'whsec_x')
  assert.equal(secrets.open(sealed, OTHER), undefined)
})

test('while the installation’s secret is being changed, what the old one sealed opens too', () => {
  const sealed = createWebhookSecrets({ current: OLD }).seal('whsec_x', ONE)
  const changing = createWebhookSecrets({ current: NEW, previous: OLD })
  assert.equal(changing.open(sealed, ONE), 'whsec_x')
  assert.equal(createWebhookSecrets({ current: NEW }).open(sealed, ONE), undefined)
  assert.equal(createWebhookSecrets({ current: NEW }).open(changing.seal('whsec_y', ONE), ONE), 'whsec_y')
})

test('what the installation’s last secret has sealed is sealed again, also secrets that still overlap', async (t) => {
  const { db } = await temporaryDatabase(t)
  const accounts = ['acc_a', 'acc_b'] as AccountId[]
  await db
    .insertInto('account')
    .values(accounts.map((id) => ({ id, name: id, plan: 'free', created_at: 1, changed_at: 1 })))
    .execute()
  const [old, changing, current] = [
    createWebhookSecrets({ current: OLD }),
    createWebhookSecrets({ current: NEW, previous: OLD }),
    createWebhookSecrets({ current: NEW }),
  ]
  const rows = Array.from({ length: 450 }, (_, index) => {
    const id = testIds.webhook()
    const { seal } = index % 3 === 0 ? current : old
    const previous = { previous_secret: seal(`before ${index}`, id), previous_until: 9 }
    return {
      account_id: accounts[index % 2] as AccountId,
      id,
      kind: 'webhook' as const,
      url: 'https://receiver.example.com/',
      events: '["agent.failed"]',
      description: String(index),
      secret: seal(`secret ${index}`, id),
      ...(index % 5 === 0 ? previous : {}),
      created_at: 1,
    }
  })
  await db.insertInto('webhook').values(rows).execute()
  assert.equal(await resealSecrets({ db, secrets: changing }), 300)
  assert.equal(await resealSecrets({ db, secrets: changing }), 0, 'once is enough')
  for (const row of await db.selectFrom('webhook').selectAll().execute()) {
    assert.equal(current.open(row.secret, row.id), `secret ${row.description}`)
    const before = row.previous_secret === null ? undefined : current.open(row.previous_secret, row.id)
    assert.equal(before, Number(row.description) % 5 === 0 ? `before ${row.description}` : undefined)
  }
})
