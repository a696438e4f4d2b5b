import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOME, openWebhookApi, type WebhookApi } from '../../../test/support/webhooks/webhook-api.ts'
import type { DeliveryStatus, DeliveryTable } from '../../db/schema/schema.ts'
import type { DeliveryId, WebhookId } from '../../domain/ids.ts'
import { createPace } from './event-routes.ts'

/** Makes the endpoint's one delivery the pattern of many: ids sort as their numbers do. */
async function multiply({ db }: WebhookApi, webhookId: string, rows: readonly Partial<DeliveryTable>[]) {
  const [pattern] = await db
    .selectFrom('delivery')
    .selectAll()
    .where('webhook_id', '=', webhookId as WebhookId)
    .execute()
  assert.ok(pattern)
  await db.deleteFrom('delivery').where('id', '=', pattern.id).execute()
  const all = rows.map((row, index) => ({ ...pattern, id: idOf(index), ...row }))
  for (let at = 0; at < all.length; at += 500)
    await db
      .insertInto('delivery')
      .values(all.slice(at, at + 500))
      .execute()
  return pattern
}

function idOf(index: number): DeliveryId {
  return `dlv_${String(index).padStart(22, '0')}` as DeliveryId
}

const failed = (endedAt: number): Partial<DeliveryTable> => ({
  status: 'failed',
  attempts: 6,
  next_attempt_at: null,
  error: 'status 500',
  ended_at: endedAt,
})

async function logAttempts({ db }: WebhookApi, deliveryId: string, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => ({
    account_id: HOME,
    delivery_id: deliveryId as DeliveryId,
    number: index + 1,
    started_at: index,
    duration_ms: 12,
    status: index % 2 === 0 ? 500 : null,
    error: index % 2 === 0 ? 'status 500' : 'timeout',
    response: index % 2 === 0 ? 'no' : null,
  }))
  await db.insertInto('delivery_attempt').values(rows).execute()
}

test('a delivery shows every attempt, and alone also the body that is sent', async (t) => {
  const api = await openWebhookApi(t)
  const { id } = await api.create()
  const [pending] = (await api.ask('GET', `/webhooks/${id}/deliveries`)).body.data
  const createdAt = new Date(api.clock.now).toISOString()
  assert.deepEqual(pending, {
    id: pending.id,
    object: 'delivery',
    webhook_id: id,
    event_id: pending.event_id,
    type: 'webhook.test',
    status: 'pending',
    attempts: [],
    next_attempt_at: createdAt,
    error: null,
    created_at: createdAt,
    ended_at: null,
  })
  await logAttempts(api, pending.id, 2)
  const attempts = [
    {
      number: 1,
      at: '1970-01-01T00:00:00.000Z',
      duration_ms: 12,
      status_code: 500,
      error: 'status 500',
      response_body: 'no',
    },
    {
      number: 2,
      at: '1970-01-01T00:00:00.001Z',
      duration_ms: 12,
      status_code: null,
      error: 'timeout',
      response_body: null,
    },
  ]
  const one = (await api.ask('GET', `/webhooks/${id}/deliveries/${pending.id}`)).body
  const data = { webhook_id: id, message: 'This endpoint receives webhooks.' }
  const payload = { event_id: pending.event_id, type: 'webhook.test', created_at: createdAt, data }
  assert.deepEqual(one, { ...pending, attempts, payload })
  assert.deepEqual((await api.ask('GET', `/webhooks/${id}/deliveries`)).body.data, [{ ...pending, attempts }])
})

test('[limit: shown-attempts] of many attempts the newest are shown: 12 in a list, 100 alone', async (t) => {
  const api = await openWebhookApi(t)
  const { id } = await api.create()
  await multiply(api, id, [{}, {}])
  await logAttempts(api, idOf(0), 120)
  await logAttempts(api, idOf(1), 3)
  const numbers = ({ attempts }: { attempts: { number: number }[] }) => attempts.map(({ number }) => number)
  const [newer, older] = (await api.ask('GET', `/webhooks/${id}/deliveries`)).body.data
  assert.deepEqual(numbers(newer), [1, 2, 3])
  assert.deepEqual(numbers(older), [109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120])
  const alone = numbers((await api.ask('GET', `/webhooks/${id}/deliveries/${idOf(0)}`)).body)
  assert.deepEqual([alone.length, alone[0], alone.at(-1)], [100, 21, 120])
})

test('deliveries come in pages, the newest first, by status where one is asked for', async (t) => {
  const api = await openWebhookApi(t)
  const { id } = await api.create()
  const other = await api.create()
  const rows = Array.from({ length: 7 }, (_, index) => (index % 2 === 0 ? failed(index) : {}))
  await multiply(api, id, rows)
  const pages = async (query: string) => {
    const ids: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page = await api.ask('GET', `/webhooks/${id}/deliveries?limit=2${query}${cursor && `&cursor=${cursor}`}`)
      assert.equal(page.status, 200, page.text)
      ids.push(...page.body.data.map((delivery: { id: string }) => delivery.id))
      cursor = page.body.next_cursor
    }
    return ids
  }
  assert.deepEqual(await pages(''), [6, 5, 4, 3, 2, 1, 0].map(idOf))
  assert.deepEqual(await pages('&order=asc'), [0, 1, 2, 3, 4, 5, 6].map(idOf))
  assert.deepEqual(await pages('&status=failed'), [6, 4, 2, 0].map(idOf))
  assert.deepEqual(await pages('&status=delivered'), [])
  const wrong = await api.ask('GET', `/webhooks/${id}/deliveries?status=dead`)
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'status'])
  const { next_cursor: cursor } = (await api.ask('GET', `/webhooks/${id}/deliveries?limit=2`)).body
  for (const path of [`${other.id}/deliveries?`, `${id}/deliveries?status=failed&`]) {
    assert.equal(
      (await api.ask('GET', `/webhooks/${path}cursor=${cursor}`)).status,
      400,
      'a cursor is good for one list',
    )
  }
})

test('WH-2: a delivery that has ended is sent again by hand, with a job and all attempts of its own; one that is pending is not', async (t) => {
  const api = await openWebhookApi(t)
  const { ask, db, clock } = api
  const { id } = await api.create()
  const pattern = await multiply(api, id, [failed(1), { ...failed(1), status: 'delivered', error: null }, {}])
  clock.now += 5_000
  for (const index of [0, 1]) {
    const { status, body } = await ask('POST', `/webhooks/${id}/deliveries/${idOf(index)}/redeliver`)
    assert.equal(status, 202)
    assert.deepEqual([body.id, body.status, body.error, body.ended_at], [idOf(index), 'pending', null, null])
    assert.equal(body.next_attempt_at, new Date(clock.now).toISOString())
    assert.equal(body.event_id, pattern.event_id)
  }
  const jobs = await db
    .selectFrom('job')
    .select(['name', 'payload', 'lane'])
    .where('name', 'like', '%.2')
    .orderBy('name')
    .execute()
  assert.deepEqual(
    jobs.map(({ name }) => name),
    [`${idOf(0)}.2`, `${idOf(1)}.2`],
  )
  assert.deepEqual(JSON.parse(jobs[0]?.payload ?? ''), { accountId: HOME, webhookId: id, deliveryId: idOf(0) })
  assert.equal(jobs[0]?.lane, id)
  const row = await db.selectFrom('delivery').selectAll().where('id', '=', idOf(0)).executeTakeFirstOrThrow()
  assert.deepEqual([row.round, row.attempts], [2, 6])
  for (const index of [0, 2]) {
    const { status, body } = await ask('POST', `/webhooks/${id}/deliveries/${idOf(index)}/redeliver`)
    assert.deepEqual([status, body.error.code], [409, 'conflict'])
  }
  assert.equal((await ask('POST', `/webhooks/${id}/deliveries/${idOf(9)}/redeliver`)).status, 404)
  const other = await api.create()
  assert.equal((await ask('POST', `/webhooks/${other.id}/deliveries/${idOf(0)}/redeliver`)).status, 404)
})

test('a delivery that is sent again twice at once is sent again once', async (t) => {
  const api = await openWebhookApi(t)
  const { id } = await api.create()
  await multiply(api, id, [failed(1)])
  const twice = [1, 2, 3].map(() => api.ask('POST', `/webhooks/${id}/deliveries/${idOf(0)}/redeliver`))
  assert.deepEqual((await Promise.all(twice)).map(({ status }) => status).sort(), [202, 409, 409])
})

test('WH-2: all that have failed since a time are sent again at once', async (t) => {
  const api = await openWebhookApi(t)
  const { ask, db } = api
  const { id } = await api.create()
  const since = Date.UTC(2026, 4, 1)
  await multiply(api, id, [
    failed(since - 1),
    failed(since),
    failed(since + 9),
    { ...failed(since + 9), status: 'delivered' },
    {},
  ])
  const asked = { body: { failed_since: '2026-05-01T00:00:00Z' } }
  const counted = await ask('POST', `/webhooks/${id}/redeliver`, { body: { ...asked.body, dry_run: true } })
  assert.deepEqual([counted.status, counted.body], [202, { redelivered: 2 }])
  const pending = await db.selectFrom('delivery').select('id').where('status', '=', 'pending').execute()
  assert.equal(pending.length, 1, 'counting sends nothing')
  const { status, body } = await ask('POST', `/webhooks/${id}/redeliver`, asked)
  assert.deepEqual([status, body], [202, { redelivered: 2 }])
  const rows = await db.selectFrom('delivery').select(['status', 'round']).orderBy('id').execute()
  const states: [DeliveryStatus, number][] = [
    ['failed', 1],
    ['pending', 2],
    ['pending', 2],
    ['delivered', 1],
    ['pending', 1],
  ]
  assert.deepEqual(
    rows.map((row) => [row.status, row.round]),
    states,
  )
  assert.deepEqual((await ask('POST', `/webhooks/${id}/redeliver`, asked)).body, { redelivered: 0 })
  for (const failed_since of ['yesterday', '2026-02-30']) {
    const wrong = await ask('POST', `/webhooks/${id}/redeliver`, { body: { failed_since } })
    assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'failed_since'])
  }
})

test('[limit: redelivered] one call sends at most 10 000 again, the oldest first', async (t) => {
  const api = await openWebhookApi(t)
  const { id } = await api.create()
  await multiply(
    api,
    id,
    Array.from({ length: 10_003 }, (_, index) => failed(index)),
  )
  const all = { body: { failed_since: '1970-01-01' } }
  const counted = await api.ask('POST', `/webhooks/${id}/redeliver`, { body: { ...all.body, dry_run: true } })
  assert.deepEqual(counted.body, { redelivered: 10_000 })
  assert.deepEqual((await api.ask('POST', `/webhooks/${id}/redeliver`, all)).body, { redelivered: 10_000 })
  const left = await api.db.selectFrom('delivery').select('id').where('status', '=', 'failed').orderBy('id').execute()
  assert.deepEqual(
    left.map((row) => row.id),
    [10_000, 10_001, 10_002].map(idOf),
  )
  assert.deepEqual((await api.ask('POST', `/webhooks/${id}/redeliver`, all)).body, { redelivered: 3 })
})

test('a test event goes to the one endpoint, whatever it asks for', async (t) => {
  const { ask, create } = await openWebhookApi(t)
  const [one, other] = [await create({ events: ['agent.failed'] }), await create()]
  const { status, body } = await ask('POST', `/webhooks/${one.id}/test`)
  assert.equal(status, 202)
  assert.deepEqual([body.webhook_id, body.type, body.status], [one.id, 'webhook.test', 'pending'])
  assert.equal((await ask('GET', `/webhooks/${one.id}/deliveries`)).body.data.length, 2)
  assert.equal((await ask('GET', `/webhooks/${other.id}/deliveries`)).body.data.length, 1)
})

test('to an endpoint that is disabled nothing is sent by hand', async (t) => {
  const { ask, create, db } = await openWebhookApi(t)
  const { id } = await create()
  await ask('PATCH', `/webhooks/${id}`, { body: { status: 'disabled' } })
  const [delivery] = (await ask('GET', `/webhooks/${id}/deliveries`)).body.data
  await db.updateTable('delivery').set({ status: 'failed', ended_at: 1 }).execute()
  const requests: readonly (readonly [path: string, body?: object])[] = [
    ['/test'],
    [`/deliveries/${delivery.id}/redeliver`],
    ['/redeliver', { failed_since: '1970-01-01' }],
  ]
  for (const [path, body] of requests) {
    const answer = await ask('POST', `/webhooks/${id}${path}`, body === undefined ? {} : { body })
    assert.deepEqual([answer.status, answer.body.error.code], [409, 'conflict'])
    assert.match(answer.body.error.message, /enabled/)
  }
  assert.equal((await db.selectFrom('event').select('id').execute()).length, 1)
})

test('who has too much sent by hand is told when to come back', async (t) => {
  const pace = createPace(() => 0)
  const { ask, create } = await openWebhookApi(t, { pace })
  const { id } = await create()
  const [delivery] = (await ask('GET', `/webhooks/${id}/deliveries`)).body.data
  for (let sent = 0; sent < 600; sent++) pace(HOME)
  const paths = [`/webhooks/${id}/test`, '/events/trigger', `/webhooks/${id}/deliveries/${delivery.id}/redeliver`]
  for (const path of paths) {
    const asked = path === '/events/trigger' ? { body: { type: 'agent.failed' } } : {}
    const refused = await ask('POST', path, asked)
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limit_exceeded'], path)
    assert.ok(Number(refused.headers['retry-after']) >= 1)
  }
})
