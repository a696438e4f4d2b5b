import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStandings, MAX_LIMITED } from './standings.ts'

test('beyond 100 000 the rested are forgotten, then those seen first, and never who has something under way [limit: standings]', () => {
  const standings = createStandings(() => 1_000)
  const [busy, owing, rested] = [standings.of('busy'), standings.of('owing'), standings.of('rested')]
  busy.inFlight = 1
  owing.requestsRestedAt = 2_000
  rested.requestsRestedAt = 1_000
  const others = (from: number, to: number): void => {
    for (let id = from; id < to; id++) standings.of(`a${id}`).requestsRestedAt = 2_000
  }
  others(3, MAX_LIMITED)
  assert.equal(standings.of('rested'), rested, 'there is still room')
  others(MAX_LIMITED, MAX_LIMITED + 1)
  assert.equal(standings.of('owing'), owing)
  assert.notEqual(standings.of('rested'), rested, 'it had rested')
  others(MAX_LIMITED + 1, MAX_LIMITED + 10)
  assert.equal(standings.of('busy'), busy)
  assert.notEqual(standings.of('owing'), owing, 'it was seen first')
})
