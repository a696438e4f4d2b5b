import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WebhookId } from '../../domain/ids.ts'
import { createWebhookSecrets } from './secrets.ts'

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
