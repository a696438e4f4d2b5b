import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase } from '../../../test/support/database.ts'
import { type AccountId, createIdSource, type EventId } from '../../domain/ids.ts'
import { createEventReader, EVENTS_AT_ONCE, isEventId, LOOK_BACK_MS } from './event-reader.ts'

const HOME = 'acc_home' as AccountId

async function setUp(t: TestContext) {
  const { db } = await temporaryDatabase(t)
  const clock = { now: Date.UTC(2026, 4, 5) }
  const now = () => clock.now
  let seed = 0
  const { event: bear } = createIdSource(now, (size) => new Uint8Array(size).fill(seed++ % 62))
  const commit = async (...ids: readonly EventId[]) => {
    const rows = ids.map((id) => ({ account_id: HOME, id, type: 'webhook.test' as const, data: '{}', created_at: 1 }))
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
    const read = createEventReader({ db, accountId: HOME, now, last })
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
