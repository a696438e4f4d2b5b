import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { eventually } from '../../../test/support/client.ts'
import {
  bodyOfEvent,
  type EventServer,
  type SentEvent,
  startEventServer,
} from '../../../test/support/webhooks/event-server.ts'
import { keyBearer } from '../remote/auth/bearer.ts'
import { createClient, RefusedError } from '../remote/client.ts'
import { UnreachableError } from '../remote/http.ts'
import { type FeedEvent, followEvents } from './listen.ts'

let server: EventServer
const open: AbortController[] = []
beforeEach(async () => {
  server = await startEventServer()
})
afterEach(async () => {
  for (const each of open) each.abort()
  await server.close()
})

const QUICK = { firstWaitMs: 1, maxWaitMs: 4, steadyMs: 60_000, silenceMs: 60_000 }

interface Followed {
  readonly events: FeedEvent[]
  /** `connected`, `lost: …`, in order. */
  readonly line: string[]
  readonly stop: () => void
  readonly ended: Promise<void>
}

function follow(timing = QUICK): Followed {
  const [events, line]: [FeedEvent[], string[]] = [[], []]
  const stopping = new AbortController()
  open.push(stopping)
  const ended = followEvents({
    client: createClient({ url: server.url, bearer: keyBearer('tp_key'), profile: undefined }),
    signal: stopping.signal,
    onEvent: async (event) => void events.push(event),
    onConnected: (lostMs) => line.push(lostMs === undefined ? 'connected' : 'connected again'),
    onLost: (reason) => line.push(`lost: ${reason}`),
    timing,
  })
  return { events, line, stop: () => stopping.abort(), ended }
}

const event = (number: number): SentEvent => ({ event_id: `evt_${number}`, type: 'webhook.test', data: { number } })
const ids = ({ events }: Followed) => events.map(({ id }) => id)
const until = (check: () => boolean) => eventually(async () => check(), Boolean)

test('the feed starts with new events, unchanged, and ends when aborted', async () => {
  server.record(event(1))
  const followed = follow()
  await until(() => followed.line.length === 1)
  server.record({ ...event(2), data: { text: 'ö \u2028 "x"' } })
  await until(() => followed.events.length === 1)
  const body = bodyOfEvent({ ...event(2), data: { text: 'ö \u2028 "x"' } })
  assert.deepEqual(followed.events, [{ id: 'evt_2', type: 'webhook.test', body }])
  followed.stop()
  await followed.ended
  await until(() => server.listeners() === 0)
})

test('after a lost connection the feed resumes after the last event, without gaps and repeats', async () => {
  const followed = follow()
  await until(() => server.listeners() === 1)
  server.record(event(1))
  await until(() => followed.events.length === 1)
  server.refuseStreams(503)
  server.cut()
  await until(() => server.asked.filter(({ lastEventId }) => lastEventId === 'evt_1').length >= 3)
  server.record(event(2))
  server.refuseStreams(undefined)
  await until(() => followed.events.length === 2)
  server.record(event(2))
  server.record(event(3))
  await until(() => followed.events.length === 3)
  assert.deepEqual(ids(followed), ['evt_1', 'evt_2', 'evt_3'])
  assert.deepEqual(followed.line, ['connected', 'lost: connection reset', 'connected again'])
})

test('an event that was committed late is received, and the next connection does not start before it', async () => {
  const followed = follow()
  await until(() => server.listeners() === 1)
  for (const number of [1, 3, 2]) server.record(event(number))
  await until(() => followed.events.length === 3)
  server.cut()
  await until(() => server.asked.filter(({ what }) => what.endsWith('/stream')).length === 2)
  assert.equal(server.asked.at(-1)?.lastEventId, 'evt_3')
})

test('the first event of an account is received even if it occurs without a connection', async () => {
  const followed = follow()
  await until(() => server.listeners() === 1)
  server.refuseStreams(503)
  server.cut()
  await until(() => followed.line.length === 2)
  server.record(event(1))
  server.refuseStreams(undefined)
  await until(() => followed.events.length === 1)
})

/** With so long a silence that the first connection is made, which a busy machine may need to be longer. */
async function connectedWithin(silenceMs: number): Promise<{ readonly followed: Followed; readonly seconds: number }> {
  const followed = follow({ ...QUICK, silenceMs })
  const failed = followed.ended.catch(() => undefined)
  await Promise.race([until(() => followed.line.length > 0), failed])
  return followed.line.length === 0 ? connectedWithin(10 * silenceMs) : { followed, seconds: silenceMs / 1_000 }
}

test('a silent connection is closed', async () => {
  const { followed, seconds } = await connectedWithin(2_000)
  await until(() => followed.line.length >= 3)
  assert.deepEqual(followed.line.slice(0, 3), ['connected', `lost: no data for ${seconds} s`, 'connected again'])
})

test('comments and invalid data are skipped', async () => {
  const followed = follow()
  await until(() => server.listeners() === 1)
  server.write(': still here\n\ndata: {"error":{"code":"shutting_down"}}\n\ndata: {"event_id":"a\\nb"}\n\ndata: 1\n\n')
  server.record(event(1))
  await until(() => followed.events.length === 1)
  assert.deepEqual(ids(followed), ['evt_1'])
})

test('a failed first connection rejects; a later one is retried unless the server rejects it', async () => {
  server.refuseStreams(503)
  await assert.rejects(follow().ended, RefusedError)
  server.refuseStreams(undefined)
  const followed = follow()
  await until(() => server.listeners() === 1)
  server.refuseStreams(403)
  server.cut()
  await assert.rejects(followed.ended, (refused: RefusedError) => refused.status === 403)
  await server.close()
  await assert.rejects(follow().ended, UnreachableError)
  server = await startEventServer()
})
