import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase } from '../../../test/support/database.ts'
import { AWAY, HOME, openWebhookApi, type WebhookApi } from '../../../test/support/webhooks/webhook-api.ts'
import { type AccountId, createIdSource, type EventId } from '../../domain/ids.ts'
import { createEventReader, EVENTS_AT_ONCE, isEventId, LOOK_BACK_MS } from './event-routes.ts'

interface Block {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: string | undefined
  readonly retry: string | undefined
}

/** Whoever listens over a real socket, and is cut off when the test ends. */
async function listen(t: TestContext, api: WebhookApi, headers: Readonly<Record<string, string>> = {}) {
  const url = await api.listen()
  const controller = new AbortController()
  t.after(() => controller.abort())
  const response = await fetch(`${url}/events/stream`, {
    headers: { authorization: HOME, ...headers },
    signal: controller.signal,
  })
  const blocks = response.status === 200 && response.body !== null ? readBlocks(response.body) : undefined
  const next = async (): Promise<Block> => {
    const { value, done } = (await blocks?.next()) ?? { value: undefined, done: true }
    assert.ok(!done && value !== undefined, 'the stream is over')
    return value
  }
  /** Resolves when the server has ended it. */
  const ended = async (): Promise<void> => {
    for (let step = await blocks?.next(); step?.done === false; ) step = await blocks?.next()
  }
  if (blocks !== undefined) assert.equal((await next()).retry, '2000')
  return { response, next, ended, leave: () => controller.abort() }
}

async function* readBlocks(body: ReadableStream<Uint8Array>): AsyncGenerator<Block, undefined> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = new Map(
        text
          .slice(0, end)
          .split('\n')
          .map((line) => line.split(/: (.*)/s, 2) as [string, string]),
      )
      text = text.slice(end + 2)
      const block = {
        id: fields.get('id'),
        event: fields.get('event'),
        data: fields.get('data'),
        retry: fields.get('retry'),
      }
      if (Object.values(block).some((value) => value !== undefined)) yield block
    }
  }
  return undefined
}

const trigger = async ({ ask, clock }: WebhookApi, type: string, as: string = HOME) => {
  clock.now++
  return (await ask('POST', '/events/trigger', { as, body: { type } })).body
}

test('events come as they are recorded, each with its id, type and the body that endpoints are sent', async (t) => {
  const api = await openWebhookApi(t)
  await trigger(api, 'agent.started')
  api.clock.now++
  const { response, next } = await listen(t, api)
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  assert.equal(response.headers.get('cache-control'), 'no-store')
  await trigger(api, 'agent.cancelled', AWAY)
  for (const type of ['agent.failed', 'usage.alert']) {
    const { id, created_at, data } = await trigger(api, type)
    const block = await next()
    assert.deepEqual([block.id, block.event], [id, type])
    assert.deepEqual(JSON.parse(block.data ?? ''), { event_id: id, type, created_at, data })
  }
})

test('a stream goes on after the last event that was received; the seconds before come again', async (t) => {
  const api = await openWebhookApi(t)
  const old = await trigger(api, 'agent.started')
  api.clock.now += 60_000
  const missed = [await trigger(api, 'agent.completed'), await trigger(api, 'agent.failed')]
  const { next } = await listen(t, api, { 'last-event-id': old.id })
  assert.deepEqual(
    [(await next()).id, (await next()).id],
    missed.map(({ id }) => id),
  )
  const again = await listen(t, api, { 'last-event-id': missed[1].id })
  assert.equal((await again.next()).id, missed[0].id)
  const { id } = await trigger(api, 'usage.alert')
  assert.equal((await again.next()).id, id)
})

test('an id that is none of an event is refused before the stream begins', async (t) => {
  const api = await openWebhookApi(t)
  const { response } = await listen(t, api, { 'last-event-id': '17' })
  const { error } = (await response.json()) as { error: { code: string; param: string } }
  assert.deepEqual([response.status, error.code, error.param], [400, 'invalid_header', 'Last-Event-ID'])
})

test('KEY-4: who is not let in any more hears nothing more', async (t) => {
  const api = await openWebhookApi(t)
  const { ended } = await listen(t, api)
  const other = await listen(t, api, { authorization: `${HOME} webhooks` })
  api.revoke(HOME)
  await ended()
  const { id } = await trigger(api, 'agent.failed', `${HOME} webhooks`)
  assert.equal((await other.next()).id, id)
  const { response } = await listen(t, api, { authorization: `${HOME} chat` })
  assert.equal(response.status, 403)
})

test('[limit: listeners] ten may listen to an account, and a place that is left is free again', async (t) => {
  const api = await openWebhookApi(t)
  const listeners = await Promise.all(Array.from({ length: 10 }, () => listen(t, api)))
  const { response } = await listen(t, api)
  assert.equal(response.status, 429)
  assert.equal(response.headers.get('retry-after'), '5')
  assert.equal((await listen(t, api, { authorization: AWAY })).response.status, 200)
  listeners[3]?.leave()
  for (let status = 0; status !== 200; ) status = (await listen(t, api)).response.status
})

test('F17: a server that closes ends those who listen, and waits for none of them', async (t) => {
  const api = await openWebhookApi(t)
  const [one, other] = [await listen(t, api), await listen(t, api, { authorization: AWAY })]
  const closed = api.close()
  await Promise.all([one.ended(), other.ended()])
  await closed
})

const HOME_ACCOUNT = 'acc_home' as AccountId

async function setUp(t: TestContext) {
  const { db } = await temporaryDatabase(t)
  const clock = { now: Date.UTC(2026, 4, 5) }
  const now = () => clock.now
  let seed = 0
  const { event: bear } = createIdSource(now, (size) => new Uint8Array(size).fill(seed++ % 62))
  const commit = async (...ids: readonly EventId[]) => {
    const rows = ids.map((id) => ({
      account_id: HOME_ACCOUNT,
      id,
      type: 'webhook.test' as const,
      data: '{}',
      created_at: 1,
    }))
    for (let at = 0; at < rows.length; at += 1_000)
      await db
        .insertInto('event')
        .values(rows.slice(at, at + 1_000))
        .execute()
  }
  /** An id a millisecond later than the one before. */
  const bearNext = () => {
    clock.now++
    return bear()
  }
  const follow = (last?: EventId) => {
    const read = createEventReader({ db, accountId: HOME_ACCOUNT, now, last })
    const readAll = async (): Promise<readonly EventId[]> => {
      const events = await read()
      return events.length === 0 ? [] : [...events.map(({ id }) => id), ...(await readAll())]
    }
    return { read, readAll }
  }
  return { db, clock, bearNext, commit, follow }
}

test('without a last event only what comes from now on is read, each once', async (t) => {
  const { bearNext, commit, follow } = await setUp(t)
  await commit(bearNext(), bearNext())
  bearNext()
  const { readAll } = follow()
  assert.deepEqual(await readAll(), [])
  const [first, second] = [bearNext(), bearNext()]
  await commit(first)
  assert.deepEqual(await readAll(), [first])
  await commit(second)
  assert.deepEqual(await readAll(), [second])
  assert.deepEqual(await readAll(), [])
})

test('an event that is committed after younger ones is not missed', async (t) => {
  const { bearNext, commit, follow, clock } = await setUp(t)
  const { readAll } = follow()
  const late = bearNext()
  const younger = Array.from({ length: 250 }, bearNext)
  await commit(...younger)
  assert.deepEqual(await readAll(), younger)
  clock.now += LOOK_BACK_MS - 1_000
  const [last] = [bearNext()]
  await commit(last)
  assert.deepEqual(await readAll(), [last])
  await commit(late)
  assert.deepEqual(await readAll(), [late])
  clock.now += LOOK_BACK_MS + 1_000
  assert.deepEqual(await readAll(), [])
  assert.deepEqual(await readAll(), [], 'and nothing comes twice')
})

test('after a last event everything that follows is read, however long ago it was', async (t) => {
  const { bearNext, commit, follow, clock } = await setUp(t)
  const old = bearNext()
  clock.now += LOOK_BACK_MS + 1
  const all = Array.from({ length: 3 * EVENTS_AT_ONCE + 7 }, bearNext)
  await commit(old, ...all)
  clock.now += 30 * 86_400_000
  assert.deepEqual(await follow(all[99]).readAll(), [...all.slice(0, 99), ...all.slice(100)], 'with the seconds before')
  clock.now += 1
  const [next] = [bearNext()]
  await commit(next)
  assert.deepEqual(await follow(all.at(-1)).readAll(), [...all.slice(0, -1), next])
  const later = follow(next)
  assert.deepEqual(await later.readAll(), [])
})

test('[limit: events-at-once] at most 100 events are read at once', async (t) => {
  const { bearNext, commit, follow } = await setUp(t)
  const { read } = follow()
  await commit(...Array.from({ length: 130 }, bearNext))
  assert.equal((await read()).length, 100)
  assert.equal((await read()).length, 30)
  assert.equal((await read()).length, 0)
})

test('[limit: remembered-events] of more than 10 000 events of a moment none is read twice', async (t) => {
  const { bearNext, commit, follow, clock } = await setUp(t)
  const { readAll } = follow()
  const start = clock.now
  const many = Array.from({ length: 10_300 }, () => {
    if (clock.now - start > LOOK_BACK_MS / 2) clock.now = start
    return bearNext()
  })
  const unique = [...new Set(many)].toSorted()
  await commit(...unique)
  assert.deepEqual(await readAll(), unique)
  const next = bearNext()
  await commit(next)
  assert.ok((await readAll()).length <= 1)
})

test('only ids of events are ids of events', () => {
  assert.ok(isEventId('evt_0VbXZIRAYY5ya8GgHoCQpy'))
  for (const text of [
    '',
    'evt_',
    '5',
    'whk_0VbXZIRAYY5ya8GgHoCQpy',
    'evt_0VbXZIRAYY5ya8GgHoCQp!',
    'evt_0VbXZIRAYY5ya8GgHoCQpyy',
  ]) {
    assert.equal(isEventId(text), false, text)
  }
})
