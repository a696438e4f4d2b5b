import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type AgentApi, openAgentApi, readStream, type StreamedEvent } from '../../../test/support/agents/agents.ts'
import { failure, recordProgress } from './run.ts'

const addresses = new WeakMap<object, Promise<string>>()

/** Listens over a real socket until the stream ends. */
async function listen(
  t: TestContext,
  { app, token }: AgentApi,
  { id, ...more }: { id: string; after?: number; token?: string },
) {
  const { server } = app.app
  const at = addresses.get(server) ?? server.listen({ host: '127.0.0.1', port: 0 })
  addresses.set(server, at)
  const controller = new AbortController()
  t.after(() => controller.abort())
  const headers = { authorization: `Bearer ${more.token ?? token}` }
  const response = await fetch(`${await at}/v1/agents/${id}/events`, {
    headers: more.after === undefined ? headers : { ...headers, 'last-event-id': String(more.after) },
    signal: controller.signal,
  })
  let text = ''
  const heard = { waiting: () => {} }
  const ended = (async () => {
    if (response.status !== 200) return
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      heard.waiting()
    }
  })().catch(() => undefined)
  const events = (): readonly StreamedEvent[] => readStream(text.slice(0, text.lastIndexOf('\n\n') + 2))
  /** When it has heard so many. */
  const hears = async (count: number): Promise<readonly StreamedEvent[]> => {
    while (events().length < count) await new Promise<void>((resolve) => (heard.waiting = resolve))
    return events()
  }
  return { response, ended, events, hears, leave: () => controller.abort() }
}

const typesOf = (events: readonly StreamedEvent[]) => events.map(({ event }) => event)

test('an agent is followed from its beginning to its end, which is said; then the stream is over', async (t) => {
  const api = await openAgentApi(t)
  const { id } = await api.create()
  const { response, ended, events, hears } = await listen(t, api, { id })
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  assert.deepEqual(typesOf(await hears(2)), ['status', 'message'])
  const claim = await api.start(id)
  await hears(3)
  const phase = { type: 'phase', data: { phase: 'working' } } as const
  await recordProgress(api.app.database.db, claim, { progress: { events: [phase] }, now: Date.now() })
  await hears(4)
  await api.end(claim, failure('max_steps', 'Too many.'))
  await ended
  assert.deepEqual(typesOf(events()), ['status', 'message', 'status', 'phase', 'status', 'done'])
  assert.deepEqual(
    events().map(({ id: number }) => number),
    [1, 2, 3, 4, 5, undefined],
  )
  const [, , , fourth, fifth, last] = events()
  assert.deepEqual([fourth?.data.sequence, fourth?.data.type, fourth?.data.run_id], [4, 'phase', claim.runId])
  assert.deepEqual(fourth?.data.data, { phase: 'working' })
  assert.deepEqual(fifth?.data.data, { status: 'failed', error: { code: 'max_steps', message: 'Too many.' } })
  assert.deepEqual(last?.data, { status: 'failed' })
})

test('a stream goes on after the last event that was received, whether or not the agent has ended meanwhile', async (t) => {
  const api = await openAgentApi(t)
  const { id } = await api.create()
  const first = await listen(t, api, { id })
  await first.hears(2)
  first.leave()
  const claim = await api.start(id)
  const second = await listen(t, api, { id, after: 2 })
  assert.deepEqual(
    (await second.hears(1)).map(({ id: number }) => number),
    [3],
  )
  await api.end(claim)
  await second.ended
  assert.deepEqual(typesOf(second.events()), ['status', 'status', 'done'])
  for (const after of [4, 5, 2 ** 60]) {
    const { ended, events } = await listen(t, api, { id, after })
    await ended
    assert.deepEqual(typesOf(events()), ['done'], String(after))
  }
})

test('without following, what has happened so far is told, and the stream is over', async (t) => {
  const { ask, app, create, start } = await openAgentApi(t)
  const { id } = await create()
  const claim = await start(id)
  const many = Array.from({ length: 120 }, (_, index) => ({ type: 'phase', data: { index } }) as const)
  await recordProgress(app.database.db, claim, { progress: { events: many }, now: Date.now() })
  const past = async (headers: Record<string, string>) =>
    readStream((await ask('GET', `/${id}/events?follow=false`, { headers })).text)
  const told = await past({})
  assert.deepEqual(
    told.map(({ id: number }) => number),
    [...Array.from({ length: 123 }, (_, index) => index + 1), undefined],
  )
  assert.deepEqual([told.at(-1)?.event, told.at(-1)?.data], ['done', { status: 'running' }])
  assert.deepEqual(typesOf(await past({ 'last-event-id': '122' })), ['phase', 'done'])
  assert.deepEqual(typesOf(await past({ 'last-event-id': '999' })), ['done'])
  assert.equal((await ask('GET', `/${id}/events?follow=maybe`)).status, 400)
})

test('[limit: agent-events-at-once] many events come whole and in order', async (t) => {
  const api = await openAgentApi(t)
  const { id } = await api.create()
  const claim = await api.start(id)
  const many = Array.from(
    { length: 250 },
    (_, index) => ({ type: 'phase', data: { index, text: 'a\nb\r\u2028' } }) as const,
  )
  await recordProgress(api.app.database.db, claim, { progress: { events: many }, now: Date.now() })
  await api.end(claim)
  const events = readStream((await api.ask('GET', `/${id}/events`)).text)
  assert.equal(events.length, 255)
  for (const [index, { id: number }] of events.slice(0, -1).entries()) assert.equal(number, index + 1)
  assert.equal(events[100]?.data.data.text, 'a\nb\r\u2028')
})

test('what is no number is refused before the stream begins', async (t) => {
  const { ask, create } = await openAgentApi(t)
  const { id } = await create()
  const { status, body } = await ask('GET', `/${id}/events`, { headers: { 'last-event-id': 'evt_1' } })
  assert.deepEqual([status, body.error.code, body.error.param], [400, 'invalid_header', 'Last-Event-ID'])
})

test('KEY-4: who is not let in any more hears nothing more; one whose agent is deleted neither', async (t) => {
  const api = await openAgentApi(t)
  const { id } = await api.create()
  const made = (await api.app.ask('POST', '/v1/keys', { token: api.token, body: { name: 'listener' } })).json()
  const { ended, hears } = await listen(t, api, { id, token: made.key })
  await hears(2)
  await api.app.ask('DELETE', `/v1/keys/${made.id}`, { token: api.token })
  await ended
  const other = await listen(t, api, { id })
  await other.hears(2)
  await api.app.database.db.deleteFrom('agent').execute()
  await other.ended
  assert.deepEqual(typesOf(other.events()), ['status', 'message'])
})

test('[limit: agent-listeners] ten may listen to the agents of an account, and a place that is left is free again', async (t) => {
  const api = await openAgentApi(t)
  const { id } = await api.create()
  const listeners = await Promise.all(Array.from({ length: 10 }, () => listen(t, api, { id })))
  const { response } = await listen(t, api, { id })
  assert.deepEqual([response.status, response.headers.get('retry-after')], [429, '5'])
  listeners[3]?.leave()
  for (let status = 0; status !== 200; ) status = (await listen(t, api, { id })).response.status
})

test('F17: a process that ends lets go of those who listen', async (t) => {
  const api = await openAgentApi(t)
  const { id } = await api.create()
  const { ended, hears } = await listen(t, api, { id })
  await hears(2)
  api.app.app.drain()
  await ended
  assert.equal((await api.ask('GET', `/${id}/events`)).status, 503)
})
