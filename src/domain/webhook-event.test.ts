import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exampleWebhookEvent, isWebhookEventType, renderWebhookBody, WEBHOOK_EVENT_TYPES } from './webhook-event.ts'

const FACTS = { eventId: 'evt_1', createdAt: Date.UTC(2026, 11, 31, 23, 59), accountId: 'acc_1', webhookId: 'whk_1' }

test('there is an example of every type, and its body has the four fields in their order', () => {
  for (const type of WEBHOOK_EVENT_TYPES) {
    const event = exampleWebhookEvent(type, FACTS)
    assert.equal(event.type, type)
    const body = renderWebhookBody(event)
    assert.match(body, /^\{"event_id":"evt_1","type":"[a-z.]+","created_at":"2026-12-31T23:59:00.000Z","data":\{/)
    assert.deepEqual(JSON.parse(body), event)
  }
})

test('the period of an example is the calendar month of its time, over the turn of the year', () => {
  const event = exampleWebhookEvent('usage.alert', FACTS)
  assert.ok(event.type === 'usage.alert')
  assert.equal(event.data.period_start, '2026-12-01T00:00:00.000Z')
  assert.equal(event.data.period_end, '2027-01-01T00:00:00.000Z')
})

test('only the names of types are types', () => {
  assert.ok(WEBHOOK_EVENT_TYPES.every(isWebhookEventType))
  for (const text of ['', 'agent', 'agent.paused', 'AGENT.STARTED', 'toString', '__proto__']) {
    assert.equal(isWebhookEventType(text), false, text)
  }
})
