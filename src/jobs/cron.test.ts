import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCron } from './cron.ts'

/** The first times after one, as text. */
function timesOf(expression: string, after: string, count = 3): readonly string[] {
  const next = parseCron(expression)
  const times: string[] = []
  for (let at = next(Date.parse(after)); times.length < count; at = next(at)) times.push(new Date(at).toISOString())
  return times.map((time) => time.slice(0, 16))
}

test('every field takes numbers, ranges, lists and steps', () => {
  const cases: readonly [string, string, readonly string[]][] = [
    ['* * * * *', '2026-11-20T10:00:00Z', ['2026-11-20T10:01', '2026-11-20T10:02', '2026-11-20T10:03']],
    ['*/20 8-9 * * *', '2026-11-20T09:30:00Z', ['2026-11-20T09:40', '2026-11-21T08:00', '2026-11-21T08:20']],
    ['5/25 0 * * *', '2026-11-20T00:00:00Z', ['2026-11-20T00:05', '2026-11-20T00:30', '2026-11-20T00:55']],
    ['0,30 12 1 * *', '2026-11-20T00:00:00Z', ['2026-12-01T12:00', '2026-12-01T12:30', '2027-01-01T12:00']],
    ['0 0 1 */3 *', '2026-11-20T00:00:00Z', ['2027-01-01T00:00', '2027-04-01T00:00', '2027-07-01T00:00']],
    ['0 9 * * 1-5/2', '2026-11-20T09:00:00Z', ['2026-11-23T09:00', '2026-11-25T09:00', '2026-11-27T09:00']],
  ]
  for (const [expression, after, times] of cases) assert.deepEqual(timesOf(expression, after), times, expression)
})

test('the time asked for is not its own next one', () => {
  assert.deepEqual(timesOf('30 4 * * *', '2026-11-20T04:30:00Z', 1), ['2026-11-21T04:30'])
  assert.deepEqual(timesOf('30 4 * * *', '2026-11-20T04:29:59.999Z', 1), ['2026-11-20T04:30'])
})

test('0 and 7 are Sunday', () => {
  const sundays = ['2026-11-22T00:00', '2026-11-29T00:00', '2026-12-06T00:00']
  for (const day of ['0', '7']) assert.deepEqual(timesOf(`0 0 * * ${day}`, '2026-11-20T00:00:00Z'), sundays)
  assert.deepEqual(timesOf('0 0 * * 6-7', '2026-11-20T00:00:00Z', 2), ['2026-11-21T00:00', '2026-11-22T00:00'])
})

test('with both days given either is enough; with one of them both must fit', () => {
  const either = ['2026-11-27T00:00', '2026-12-01T00:00', '2026-12-04T00:00']
  assert.deepEqual(timesOf('0 0 1 * 5', '2026-11-20T00:00:00Z'), either)
  assert.deepEqual(timesOf('0 0 */2 * 5', '2026-11-20T00:00:00Z', 2), ['2026-11-27T00:00', '2026-12-11T00:00'])
})

test('rare days come: a leap day across the year 2100, the 31st of a month [limit: cron-horizon]', () => {
  assert.deepEqual(timesOf('0 0 29 2 *', '2096-03-01T00:00:00Z', 1), ['2104-02-29T00:00'])
  assert.deepEqual(timesOf('0 0 31 * *', '2027-01-31T00:00:00Z', 2), ['2027-03-31T00:00', '2027-05-31T00:00'])
})

test('what is no expression, or never comes, is refused', () => {
  const wrong = ['', '* * * *', '* * * * * *', '60 * * * *', '* 24 * * *', '* * 0 * *', '* * * 13 *', '* * * * 8']
  const malformed = [
    '*/0 * * * *',
    '5-1 * * * *',
    '1,,2 * * * *',
    '-1 * * * *',
    'a * * * *',
    '1.5 * * * *',
    '** * * * *',
  ]
  for (const text of [...wrong, ...malformed]) assert.throws(() => parseCron(text), /cron expression/, text)
  for (const text of ['0 0 30 2 *', '0 0 31 4,6 *']) assert.throws(() => parseCron(text), /never comes/, text)
})
