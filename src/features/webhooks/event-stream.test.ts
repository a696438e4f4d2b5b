import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AWAY, HOME, openWebhookApi, type WebhookApi } from '../../../test/support/webhook-api.ts'

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
