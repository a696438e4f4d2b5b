import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountId, DeliveryId, EventId, WebhookId } from '../../../domain/ids.ts'
import { deliveriesAtOnce } from '../jobs.ts'
import type { DeliveryEnd } from './ending.ts'
import { standingsAfter } from './standing.ts'

function end(webhookId: string, at: number, status: number | undefined, url = 'https://a.test/'): DeliveryEnd {
  const error = status === 200 ? undefined : status === undefined ? 'timeout' : `status ${status}`
  const ids = { accountId: 'acc_1' as AccountId, webhookId: webhookId as WebhookId, deliveryId: 'dlv_1' as DeliveryId }
  const none = { previous_secret: null, previous_until: null, failing_since: null, disabled_at: null }
  const event = { id: 'evt_1' as EventId, type: 'webhook.test' as const, data: '{}', created_at: 1 }
  const job = { job: { id: 'job_1', attempt: 1 }, payload: ids, round: 1 }
  return {
    delivery: {
      ...{ ...job, attempts: 0, failures: 0, waitMs: 0, event },
      webhook: { url, secret: new Uint8Array(), ...none },
    },
    attempt: { status, error, text: '', startedAt: at, durationMs: 1 },
    ...{ status: 'pending', error, retryInMs: 1, endedAt: at },
  }
}

test('of attempts that end together, those after the last success say how an endpoint fares', () => {
  const ends = [
    ...[end('whk_b', 1, 500), end('whk_b', 2, 200), end('whk_b', 3, undefined), end('whk_b', 4, 500)],
    ...[end('whk_a', 5, 500), end('whk_a', 6, 200)],
    ...[end('whk_c', 7, 410), end('whk_c', 8, 500)],
  ]
  const standings = standingsAfter(ends).map(({ webhookId, hasSucceeded, failedAt, lastFailedAt, goneAt }) => [
    ...[webhookId, hasSucceeded, failedAt, lastFailedAt, goneAt],
  ])
  assert.deepEqual(standings, [
    ['whk_a', true, undefined, undefined, undefined],
    ['whk_b', true, 3, 4, undefined],
    ['whk_c', false, 7, 8, 7],
  ])
})

test('an endpoint whose address was changed meanwhile is not judged by the one before', () => {
  const ends = [end('whk_a', 1, 410, 'https://old.test/'), end('whk_a', 2, 200, 'https://new.test/')]
  assert.deepEqual(
    standingsAfter(ends).map(({ url, goneAt }) => [url, goneAt]),
    [
      ['https://old.test/', 1],
      ['https://new.test/', undefined],
    ],
  )
})

test('[limit: webhook-attempts] deliveries take an eighth of the files that may be open, and 1 200 at most', () => {
  assert.deepEqual([undefined, 524_288, 1_024, 64].map(deliveriesAtOnce), [1_200, 1_200, 128, 20])
})
