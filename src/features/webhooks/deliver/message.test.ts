// Runs on one database.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BudgetAlertData, exampleWebhookEvent, WEBHOOK_EVENT_TYPES } from '../../../domain/webhook-event.ts'
import { messageOf, slackPayload } from './message.ts'

const FACTS = { eventId: 'evt_1', createdAt: Date.UTC(2026, 10, 20, 16, 30), accountId: 'acc_1', webhookId: 'whk_1' }
const URL_OF_TESTS = 'https://gateway.example/app/'

test('the alert of a budget names level, spending, forecast and reset', () => {
  const { subject, lines } = messageOf(exampleWebhookEvent('budget.alert', FACTS), URL_OF_TESTS)
  assert.equal(subject, 'Turnpike: 80 % of the monthly budget of tag customer=northwind is spent')
  assert.deepEqual(lines, [
    'Spent: $4.00 of $5.00.',
    'At this pace the budget is spent on 2026-11-21 at 16:30 UTC.',
    'It resets on 2026-12-01 at 00:00 UTC.',
    'Requests beyond the limit are refused with 402.',
    'Budget: bud_00000000exampleexample',
    'Dashboard: https://gateway.example/app/',
    'Event: evt_1, 2026-11-20T16:30:00.000Z',
  ])
})

test('a spent budget has no forecast, and a small amount is not rounded away', () => {
  const event = exampleWebhookEvent('budget.alert', FACTS)
  const data = { ...event.data, spent_usd: 5.000000001, threshold_percent: 100 } as BudgetAlertData
  const { lines } = messageOf({ ...event, type: 'budget.alert', data }, URL_OF_TESTS)
  assert.equal(lines[0], 'Spent: $5.000000001 of $5.00.')
  assert.ok(!lines.some((line) => line.includes('pace')))
})

test('every type of event has a subject of one line', () => {
  const subjects = WEBHOOK_EVENT_TYPES.map((type) => messageOf(exampleWebhookEvent(type, FACTS), URL_OF_TESTS).subject)
  assert.equal(new Set(subjects).size, WEBHOOK_EVENT_TYPES.length)
  assert.ok(subjects.every((subject) => /^Turnpike: \S.*\S$/.test(subject)))
})

test('text of an account adds no header, line, link or mention', () => {
  const event = exampleWebhookEvent('agent.failed', FACTS)
  assert.ok(event.type === 'agent.failed')
  const agent = {
    ...event.data.agent,
    name: 'a\r\nBcc: b@example.com <!channel>',
    summary: '<https://evil.example|click>',
  }
  const message = messageOf({ ...event, data: { ...event.data, agent } }, URL_OF_TESTS)
  assert.ok(!/[\r\n]/.test(message.subject))
  const { text } = JSON.parse(slackPayload(message))
  assert.ok(text.includes('&lt;!channel&gt;') && !text.includes('<'))
  assert.equal(text.split('\n').length, message.lines.length + 1)
})
