import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AWAY, HOME, openWebhookApi, URL_OF_TESTS } from '../../../test/support/webhooks/webhook-api.ts'
import type { WebhookId } from '../../domain/ids.ts'
import { deletionJobs } from './endpoints.ts'

const DAY_MS = 86_400_000
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/

test('WH-3: an endpoint is made at once, with its secret shown once, and a webhook.test on its way', async (t) => {
  const { ask, db, secrets, clock } = await openWebhookApi(t)
  const body = { url: URL_OF_TESTS, events: ['agent.failed', 'usage.alert'], description: 'Ünser Empfänger' }
  const made = await ask('POST', '/webhooks', { body })
  assert.equal(made.status, 201)
  const { secret, ...shown } = made.body
  assert.match(secret, SECRET)
  assert.deepEqual(shown, {
    id: shown.id,
    object: 'webhook',
    kind: 'webhook',
    url: URL_OF_TESTS,
    events: ['agent.failed', 'usage.alert'],
    description: 'Ünser Empfänger',
    status: 'enabled',
    disabled_reason: null,
    disabled_at: null,
    failing_since: null,
    previous_secret_expires_at: null,
    created_at: new Date(clock.now).toISOString(),
  })
  assert.match(shown.id, /^whk_[0-9A-Za-z]{22}$/)
  const list = await ask('GET', '/webhooks')
  const { last_delivery, deliveries_24h, ...listed } = list.body.data[0]
  assert.deepEqual(listed, shown)
  assert.deepEqual([list.body.data.length, last_delivery.type, deliveries_24h.pending], [1, 'webhook.test', 1])
  assert.deepEqual((await ask('GET', `/webhooks/${shown.id}`)).body, list.body.data[0])
  assert.ok(!list.text.includes('whsec_'))
  const row = await db.selectFrom('webhook').selectAll().executeTakeFirstOrThrow()
  assert.equal(secrets.open(row.secret, row.id), secret)
  assert.ok(!Buffer.from(row.secret).includes(secret.slice(6)), 'it is kept sealed')
  const events = await db.selectFrom('event').select(['type', 'data']).execute()
  assert.deepEqual(
    events.map(({ type, data }) => [type, JSON.parse(data).webhook_id]),
    [['webhook.test', shown.id]],
  )
  const deliveries = (await ask('GET', `/webhooks/${shown.id}/deliveries`)).body.data
  assert.deepEqual(
    deliveries.map(({ type, status }: Record<string, string>) => [type, status]),
    [['webhook.test', 'pending']],
  )
  assert.equal((await db.selectFrom('job').select('kind').execute()).length, 1)
})

test('without events an endpoint gets all of them, also those that are yet to come', async (t) => {
  const { create, db } = await openWebhookApi(t)
  assert.equal((await create()).events, null)
  assert.equal((await create({ events: null })).events, null)
  assert.deepEqual((await create({ events: ['agent.failed', 'agent.failed'] })).events, ['agent.failed'])
  const rows = await db.selectFrom('webhook').select('events').orderBy('id').execute()
  assert.equal(rows.filter(({ events }) => events === null).length, 2)
})

const REFUSED: readonly (readonly [what: string, body: object, code: string, param: string])[] = [
  ['no address', {}, 'missing_field', 'url'],
  ['WH-4: an address that is none', { url: 'receiver' }, 'invalid_value', 'url'],
  ['WH-4: plain http', { url: 'http://receiver.example.com' }, 'invalid_value', 'url'],
  ['WH-4: a private address', { url: 'https://10.0.0.1/' }, 'invalid_value', 'url'],
  ['an unknown type', { url: URL_OF_TESTS, events: ['agent.failed', 'agent.paused'] }, 'invalid_value', 'events[1]'],
  ['no type at all', { url: URL_OF_TESTS, events: [] }, 'out_of_range', 'events'],
  ['a type that is no text', { url: URL_OF_TESTS, events: [1] }, 'invalid_type', 'events[0]'],
  ['U+0000', { url: URL_OF_TESTS, description: 'a\0b' }, 'invalid_value', 'description'],
  ['an unknown field', { url: URL_OF_TESTS, secret: 'mine' }, 'unknown_field', 'secret'],
]

for (const [what, body, code, param] of REFUSED) {
  test(`${what} is refused when an endpoint is made, and when it is changed`, async (t) => {
    const { ask, create, db } = await openWebhookApi(t)
    const { id } = await create()
    const answers = [await ask('POST', '/webhooks', { body })]
    if (param !== 'url' || 'url' in body) answers.push(await ask('PATCH', `/webhooks/${id}`, { body }))
    for (const { status, body: shown } of answers) {
      assert.deepEqual([status, shown.error.code, shown.error.param], [400, code, param])
    }
    const rows = await db.selectFrom('webhook').select(['url', 'description']).execute()
    assert.deepEqual(rows, [{ url: URL_OF_TESTS, description: '' }])
  })
}

test('WH-4, F22: a name that leads to a private address is refused when it is saved; one that leads nowhere yet is not', async (t) => {
  const found: Record<string, readonly string[]> = { 'in.example.com': ['93.184.215.14', '10.0.0.1'] }
  const resolve = async (name: string) => found[name] ?? Promise.reject(new Error('nothing'))
  const { ask, create } = await openWebhookApi(t, { resolve })
  const refused = await ask('POST', '/webhooks', { body: { url: 'https://in.example.com/' } })
  assert.deepEqual([refused.status, refused.body.error.param], [400, 'url'])
  assert.ok(!refused.text.includes('10.0.0.1'))
  const { id } = await create()
  const moved = await ask('PATCH', `/webhooks/${id}`, { body: { url: 'https://in.example.com/' } })
  assert.equal(moved.status, 400)
})

test('private addresses and http are the operator’s to allow, also while running', async (t) => {
  const { ask, settings } = await openWebhookApi(t)
  const body = { url: 'http://127.0.0.1:9/hook' }
  assert.equal((await ask('POST', '/webhooks', { body })).status, 400)
  settings.allowPrivateNetworks = true
  assert.equal((await ask('POST', '/webhooks', { body })).body.url, body.url)
})

test('[limit: webhooks] an account has at most 20 endpoints, also if they are made at once', async (t) => {
  const { ask, create } = await openWebhookApi(t)
  for (let made = 0; made < 18; made++) await create()
  const answers = await Promise.all([1, 2, 3, 4].map(() => ask('POST', '/webhooks', { body: { url: URL_OF_TESTS } })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 409, 409])
  const refused = answers.find(({ status }) => status === 409)
  assert.equal(refused?.body.error.code, 'conflict')
  assert.match(refused?.body.error.message, /at most 20 /)
  assert.equal((await ask('POST', '/webhooks', { as: AWAY, body: { url: URL_OF_TESTS } })).status, 201)
  const pages = [await ask('GET', '/webhooks?limit=15')]
  pages.push(await ask('GET', `/webhooks?limit=15&cursor=${pages[0]?.body.next_cursor}`))
  const ids = pages.flatMap(({ body }) => body.data.map(({ id }: { id: string }) => id))
  assert.deepEqual(ids, ids.toSorted().toReversed())
  assert.equal(new Set(ids).size, 20)
})

test('a change takes only the fields that are sent', async (t) => {
  const { ask, create } = await openWebhookApi(t)
  const { secret: _, ...made } = await create({ events: ['agent.failed'], description: 'first' })
  const change = async (body: object) => (await ask('PATCH', `/webhooks/${made.id}`, { body })).body
  assert.deepEqual(await change({}), made)
  assert.deepEqual(await change({ description: 'second' }), { ...made, description: 'second' })
  assert.deepEqual(await change({ events: null }), { ...made, description: 'second', events: null })
  const url = 'https://other.example.com:8443/'
  assert.deepEqual(await change({ url, events: ['webhook.test'] }), {
    ...made,
    url,
    description: 'second',
    events: ['webhook.test'],
  })
})

test('an endpoint is switched off and on again; that forgets why it was off and since when it failed', async (t) => {
  const { ask, create, db, clock, record } = await openWebhookApi(t)
  const { id } = await create()
  const change = async (body: object) => (await ask('PATCH', `/webhooks/${id}`, { body })).body
  const off = await change({ status: 'disabled' })
  assert.deepEqual([off.status, off.disabled_reason], ['disabled', 'by_request'])
  assert.equal(off.disabled_at, new Date(clock.now).toISOString())
  const event = { accountId: HOME, type: 'webhook.test', data: { webhook_id: id, message: '' } } as const
  await record(event)
  const deliveries = async () => (await db.selectFrom('delivery').select('id').execute()).length
  assert.equal(await deliveries(), 1, 'it gets nothing new')
  const [at, since] = [clock.now, clock.now - 5 * DAY_MS]
  const failing = { disabled_at: at, disabled_reason: 'failing', failing_since: since } as const
  await db.updateTable('webhook').set(failing).where('id', '=', id).execute()
  clock.now += 1000
  const still = await change({ status: 'disabled' })
  assert.deepEqual([still.disabled_reason, still.disabled_at], ['failing', new Date(at).toISOString()])
  assert.equal(still.failing_since, new Date(since).toISOString())
  const on = await change({ status: 'enabled' })
  assert.deepEqual([on.status, on.disabled_reason, on.disabled_at, on.failing_since], ['enabled', null, null, null])
  await record(event)
  assert.equal(await deliveries(), 2)
})

test('WH-1: a rotated secret signs beside the old one for 24 hours, or for as long as is said', async (t) => {
  const { ask, create, db, secrets, clock } = await openWebhookApi(t)
  const { id, secret: first } = await create()
  const kept = async () => {
    const row = await db.selectFrom('webhook').selectAll().executeTakeFirstOrThrow()
    const open = (sealed: Uint8Array | null) => (sealed === null ? undefined : secrets.open(sealed, row.id))
    return [open(row.secret), open(row.previous_secret), row.previous_until]
  }
  const rotate = async (body?: object) =>
    (await ask('POST', `/webhooks/${id}/rotate_secret`, body === undefined ? {} : { body })).body
  const second = await rotate()
  assert.match(second.secret, SECRET)
  assert.notEqual(second.secret, first)
  assert.equal(second.previous_secret_expires_at, new Date(clock.now + DAY_MS).toISOString())
  assert.deepEqual(await kept(), [second.secret, first, clock.now + DAY_MS])
  const third = await rotate({ overlap: 60 })
  assert.deepEqual(await kept(), [third.secret, second.secret, clock.now + 60_000])
  clock.now += 60_000
  assert.equal((await ask('GET', `/webhooks/${id}`)).body.previous_secret_expires_at, null, 'it is over')
  const fourth = await rotate({ overlap: 0 })
  assert.equal(fourth.previous_secret_expires_at, null)
  assert.deepEqual(await kept(), [fourth.secret, undefined, null])
})

test('[limit: secret-overlap] an old secret signs for at most a day', async (t) => {
  const { ask, create } = await openWebhookApi(t)
  const { id } = await create()
  for (const overlap of [86_401, -1]) {
    const { status, body } = await ask('POST', `/webhooks/${id}/rotate_secret`, { body: { overlap } })
    assert.deepEqual([status, body.error.code, body.error.param], [400, 'out_of_range', 'overlap'])
  }
  assert.equal((await ask('POST', `/webhooks/${id}/rotate_secret`, { body: { overlap: 86_400 } })).status, 200)
})

test('[limit: webhook-fields] a description and an address have their lengths', async (t) => {
  const { ask } = await openWebhookApi(t)
  const asked = async (body: object) =>
    (await ask('POST', '/webhooks', { body: { url: URL_OF_TESTS, ...body } })).status
  assert.equal(await asked({ description: 'x'.repeat(500) }), 201)
  assert.equal(await asked({ description: 'x'.repeat(501) }), 400)
  assert.equal(await asked({ url: `https://a.example.com/${'x'.repeat(2048)}` }), 400)
})

test('a deleted endpoint is gone with its deliveries and attempts; those of others stay', async (t) => {
  const { ask, create, db, clock } = await openWebhookApi(t)
  const [gone, other] = [await create(), await create()]
  const deliveries = await db.selectFrom('delivery').selectAll().execute()
  const attempt = { number: 1, started_at: 1, duration_ms: 1, status: 500, error: 'status 500', response: '' }
  await db
    .insertInto('delivery_attempt')
    .values(deliveries.map(({ account_id, id }) => ({ account_id, delivery_id: id, ...attempt })))
    .execute()
  const removed = await ask('DELETE', `/webhooks/${gone.id}`)
  assert.deepEqual([removed.status, removed.text], [204, ''])
  assert.equal((await ask('GET', `/webhooks/${gone.id}`)).status, 404)
  assert.equal((await ask('GET', `/webhooks/${gone.id}/deliveries`)).status, 404)
  assert.equal((await ask('DELETE', `/webhooks/${gone.id}`)).status, 404)
  assert.deepEqual(
    (await db.selectFrom('delivery').select('webhook_id').execute()).map((row) => row.webhook_id),
    [other.id],
  )
  assert.equal((await db.selectFrom('delivery_attempt').select('delivery_id').execute()).length, 1)
  const job = await db
    .selectFrom('job')
    .select(['name', 'run_at'])
    .where('kind', '=', 'webhooks.clear')
    .executeTakeFirstOrThrow()
  assert.deepEqual([job.name, job.run_at], [gone.id, clock.now + 60_000], 'late ones go a minute later')
})

test('[limit: webhook-deletion] of many deliveries 500 go with their endpoint, the others in the background', async (t) => {
  const { ask, create, db } = await openWebhookApi(t)
  const { id } = await create()
  const template = await db.selectFrom('delivery').selectAll().executeTakeFirstOrThrow()
  const many = Array.from({ length: 1_100 }, (_, index) => ({
    ...template,
    id: `dlv_${String(index).padStart(22, '0')}` as never,
  }))
  for (let at = 0; at < many.length; at += 550)
    await db
      .insertInto('delivery')
      .values(many.slice(at, at + 550))
      .execute()
  await ask('DELETE', `/webhooks/${id}`)
  const left = async () => (await db.selectFrom('delivery').select('id').execute()).length
  assert.equal(await left(), 601)
  const { payload } = await db
    .selectFrom('job')
    .select('payload')
    .where('kind', '=', 'webhooks.clear')
    .executeTakeFirstOrThrow()
  const { handler } = deletionJobs({ db })['webhooks.clear'] ?? {}
  const job = { id: 'job_a', kind: 'webhooks.clear', name: id, payload: JSON.parse(payload), attempt: 1, createdAt: 1 }
  await handler?.(job, { signal: new AbortController().signal, stillMine: async () => true })
  assert.equal(await left(), 0)
})

test('TEN-1: another account’s endpoint is as unknown as one that never was', async (t) => {
  const { ask, create } = await openWebhookApi(t)
  const { id } = await create()
  const [delivery] = (await ask('GET', `/webhooks/${id}/deliveries`)).body.data
  const unknown = 'whk_zzzzzzzzzzzzzzzzzzzzzz'
  const requests = [
    ['GET', ''],
    ['PATCH', '', { description: 'mine' }],
    ['DELETE', ''],
    ['POST', '/rotate_secret'],
    ['POST', '/test'],
    ['GET', '/deliveries'],
    ['GET', `/deliveries/${delivery.id}`],
    ['POST', `/deliveries/${delivery.id}/redeliver`],
    ['POST', '/redeliver', { failed_since: '2026-01-01' }],
  ] as const
  for (const [method, path, body] of requests) {
    const asked = { as: AWAY, ...(body === undefined ? {} : { body }) }
    const foreign = await ask(method, `/webhooks/${id}${path}`, asked)
    const strange = await ask(method, `/webhooks/${unknown}${path}`, asked)
    assert.deepEqual([foreign.status, strange.status], [404, 404], `${method} ${path}`)
    assert.equal(foreign.body.error.message, strange.body.error.message)
  }
  assert.deepEqual((await ask('GET', '/webhooks', { as: AWAY })).body.data, [])
  assert.equal((await ask('GET', `/webhooks/${id}`)).body.description, '')
})

test('the scope is `webhooks`, and it is enough', async (t) => {
  const { ask } = await openWebhookApi(t)
  const body = { url: URL_OF_TESTS }
  assert.equal((await ask('POST', '/webhooks', { as: `${HOME} webhooks`, body })).status, 201)
  assert.equal((await ask('POST', '/webhooks', { as: `${HOME} chat,keys`, body })).status, 403)
  assert.equal((await ask('GET', '/events', { as: `${HOME} usage:read` })).status, 403)
})

test('the audit log tells who made, changed, switched, rotated and deleted an endpoint, and nothing secret', async (t) => {
  const { ask, audit } = await openWebhookApi(t)
  const url = 'https://hooks.example.com/services/T0/B0/very-secret?token=hidden'
  const { id, secret } = (await ask('POST', '/webhooks', { body: { url } })).body
  await ask('PATCH', `/webhooks/${id}`, { body: { description: 'x' } })
  await ask('PATCH', `/webhooks/${id}`, { body: { status: 'disabled' } })
  await ask('PATCH', `/webhooks/${id}`, { body: { status: 'enabled' } })
  await ask('PATCH', `/webhooks/${id}`, { body: {} })
  await ask('POST', `/webhooks/${id}/rotate_secret`, { body: { overlap: 0 } })
  await ask('DELETE', `/webhooks/${id}`)
  const actions = ['created', 'changed', 'disabled', 'enabled', 'secret_rotated', 'deleted']
  assert.deepEqual(
    audit.map(({ action }) => action),
    actions.map((action) => `webhook.${action}`),
  )
  for (const { subject, result, accountId } of audit)
    assert.deepEqual([subject, result, accountId], [id as WebhookId, 'done', HOME])
  assert.deepEqual(audit[0]?.details, { kind: 'webhook', host: 'hooks.example.com', events: null, enabled: true })
  const text = JSON.stringify(audit)
  for (const hidden of [secret, 'very-secret', 'hidden']) assert.ok(!text.includes(hidden))
})
