import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AWAY, HOME, openWebhookApi } from '../../../test/support/webhooks/webhook-api.ts'
import type { AccountId } from '../../domain/ids.ts'
import { WEBHOOK_EVENT_TYPES } from '../../domain/webhook-event.ts'
import { createPace } from './event-routes.ts'

test('an event of every type is triggered, with made-up contents that say so', async (t) => {
  const { ask, create, clock } = await openWebhookApi(t)
  const { id } = await create({ events: ['agent.failed', 'usage.alert'] })
  for (const type of WEBHOOK_EVENT_TYPES) {
    const { status, body } = await ask('POST', '/events/trigger', { body: { type } })
    assert.equal(status, 202)
    assert.deepEqual([body.object, body.type, body.data.test], ['event', type, true])
    assert.equal(body.created_at, new Date(clock.now).toISOString())
    assert.match(body.id, /^evt_[0-9A-Za-z]{22}$/)
  }
  const deliveries = (await ask('GET', `/webhooks/${id}/deliveries`)).body.data
  const types = deliveries.map(({ type }: { type: string }) => type)
  assert.deepEqual(types.sort(), ['agent.failed', 'usage.alert', 'webhook.test'])
  const alert = (await ask('GET', '/events?type=usage.alert')).body.data
  assert.equal(alert.length, 1)
  assert.equal(alert[0].data.account_id, HOME)
})

test('what is no type is refused, and the answer says what there is', async (t) => {
  const { ask } = await openWebhookApi(t)
  for (const type of ['agent.paused', '', '__proto__']) {
    const { status, body } = await ask('POST', '/events/trigger', { body: { type } })
    assert.deepEqual([status, body.error.code, body.error.param], [400, 'invalid_value', 'type'])
    for (const one of WEBHOOK_EVENT_TYPES) assert.ok(body.error.message.includes(one))
  }
  const { status, body } = await ask('GET', '/events?type=agent.paused')
  assert.deepEqual([status, body.error.param], [400, 'type'])
})

test('TEN-1: events come in pages, the newest first, and only to their account', async (t) => {
  const { ask, clock } = await openWebhookApi(t)
  const ids: string[] = []
  for (let made = 0; made < 5; made++) {
    clock.now += 1
    const type = made % 2 === 0 ? 'agent.started' : 'agent.failed'
    ids.push((await ask('POST', '/events/trigger', { body: { type } })).body.id)
  }
  const first = await ask('GET', '/events?limit=3')
  const second = await ask('GET', `/events?limit=3&cursor=${first.body.next_cursor}`)
  const seen = [first, second].flatMap(({ body }) => body.data.map(({ id }: { id: string }) => id))
  assert.deepEqual(seen, ids.toReversed())
  assert.deepEqual([first.body.has_more, second.body.has_more], [true, false])
  const failed = (await ask('GET', '/events?type=agent.failed')).body.data
  assert.equal(failed.length, 2)
  assert.deepEqual((await ask('GET', '/events', { as: AWAY })).body.data, [])
})

test('TEN-1: where events went is told on request, to each endpoint that asked for them', async (t) => {
  const { ask, create, clock } = await openWebhookApi(t)
  const all = await create()
  clock.now += 1
  const some = await create({ events: ['agent.failed'] })
  await create({ events: ['usage.alert'] })
  clock.now += 20_000
  const sent = (await ask('POST', '/events/trigger', { body: { type: 'agent.failed' } })).body.id
  const unsent = (await ask('POST', '/events/trigger', { body: { type: 'agent.started' }, as: AWAY })).body.id
  const path = '/events?type=agent.failed&include=deliveries'
  const [event] = (await ask('GET', path)).body.data
  assert.equal(event.id, sent)
  assert.deepEqual(
    event.deliveries.map(({ webhook_id: id, status }: Record<string, unknown>) => [id, status]),
    [all.id, some.id].map((id) => [id, 'pending']),
  )
  for (const { id, webhook_id: at, next_attempt_at: next } of event.deliveries) {
    const { body } = await ask('GET', `/webhooks/${at}/deliveries/${id}`)
    assert.deepEqual([body.event_id, body.next_attempt_at], [sent, next])
  }
  await ask('DELETE', `/webhooks/${some.id}`)
  assert.equal((await ask('GET', path)).body.data[0].deliveries.length, 1)
  assert.equal('deliveries' in (await ask('GET', '/events')).body.data[0], false)
  const [foreign] = (await ask('GET', '/events?include=deliveries', { as: AWAY })).body.data
  assert.deepEqual([foreign.id, foreign.deliveries], [unsent, []])
  assert.equal((await ask('GET', '/events?include=all')).body.error.param, 'include')
})

const accountOf = (index: number) => `acc_${index}` as AccountId

test('[limit: sent-by-hand] an account has at most 600 events a minute sent by hand; others have theirs', () => {
  const clock = { now: 0 }
  const pace = createPace(() => clock.now)
  for (let sent = 0; sent < 600; sent++) pace(accountOf(1))
  assert.throws(() => pace(accountOf(1)), { code: 'rate_limit_exceeded', retryAfterMs: 100 })
  pace(accountOf(2))
  clock.now += 100
  pace(accountOf(1))
  assert.throws(() => pace(accountOf(1)), { code: 'rate_limit_exceeded' })
})

test('[limit: paced-accounts] the pace of 10 000 accounts is remembered; the one unseen for longest is forgotten', () => {
  const pace = createPace(() => 0)
  for (let sent = 0; sent < 600; sent++) pace(accountOf(0))
  for (let index = 1; index < 10_000; index++) pace(accountOf(index))
  assert.throws(() => pace(accountOf(0)))
  for (let index = 10_000; index < 19_999; index++) pace(accountOf(index))
  assert.throws(() => pace(accountOf(0)))
  for (let index = 20_000; index < 30_000; index++) pace(accountOf(index))
  pace(accountOf(0))
})
