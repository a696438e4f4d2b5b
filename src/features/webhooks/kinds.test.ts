import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openWebhookApi } from '../../../test/support/webhooks/webhook-api.ts'
import { ALERT_EVENTS } from '../../domain/webhook-event.ts'

const SLACK = 'https://hooks.slack.example/services/T0/B0/secret'
const MAIL = {
  smtp: { host: 'mail.example', port: 587, security: 'starttls', from: 'turnpike@gateway.example' } as const,
  recipientDomains: ['example.com'],
}

test('a Slack endpoint receives alerts, and its address is sealed and shown without its path', async (t) => {
  const { ask, db, secrets, audit } = await openWebhookApi(t)
  const made = await ask('POST', '/webhooks', { body: { kind: 'slack', url: SLACK } })
  assert.equal(made.status, 201)
  assert.deepEqual([made.body.kind, made.body.url], ['slack', 'https://hooks.slack.example/…'])
  assert.deepEqual(made.body.events, ALERT_EVENTS)
  assert.ok(!('secret' in made.body))
  const { id } = made.body
  const row = async () => db.selectFrom('webhook').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  assert.equal(secrets.open((await row()).secret, id), SLACK)
  const moved = await ask('PATCH', `/webhooks/${id}`, { body: { url: `${SLACK}2` } })
  assert.equal(moved.body.url, 'https://hooks.slack.example/…')
  assert.equal(secrets.open((await row()).secret, id), `${SLACK}2`)
  assert.equal((await ask('POST', `/webhooks/${id}/rotate_secret`, { body: {} })).status, 409)
  const private_ = await ask('PATCH', `/webhooks/${id}`, { body: { url: 'https://10.0.0.1/hook' } })
  assert.deepEqual([private_.status, private_.body.error.param], [400, 'url'])
  assert.ok(!JSON.stringify(audit).includes('secret'), 'the audit log has the host only')
})

test('an e-mail endpoint needs a mail server and an allowed recipient', async (t) => {
  const off = await openWebhookApi(t)
  const body = { kind: 'email', url: 'mailto:ops@example.com' }
  const refused = await off.ask('POST', '/webhooks', { body })
  assert.deepEqual([refused.status, refused.body.error.param], [400, 'kind'])
  const { ask, audit } = await openWebhookApi(t, { mail: MAIL })
  const made = await ask('POST', '/webhooks', { body })
  assert.deepEqual([made.status, made.body.url, made.body.events], [201, body.url, ALERT_EVENTS])
  assert.deepEqual(audit[0]?.details, { kind: 'email', email: 'ops@example.com', events: ALERT_EVENTS, enabled: true })
  for (const url of ['mailto:eve@example.org', 'mailto:a@example.com,b@example.com', 'https://example.com/']) {
    const wrong = await ask('POST', '/webhooks', { body: { kind: 'email', url } })
    assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'url'], url)
  }
  assert.equal((await ask('POST', '/webhooks', { body: { url: body.url } })).status, 400)
})
