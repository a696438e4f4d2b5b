import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dayOf, daysSearch, type Period, previousPeriod, RANGES, readPeriodSearch, resolvePeriod } from './period.ts'
import { startOfDay } from './time.ts'

const NOW = Date.parse('2026-11-22T11:40:35.123Z')
const DAY = 86_400_000

function bounds({ start, end }: Period): string {
  return `${start} ${end}`
}

test('each range, with an end that is not included', () => {
  const expected = {
    '1h': '2026-11-22T10:41:00.000Z 2026-11-22T11:41:00.000Z',
    today: '2026-11-22T00:00:00.000Z 2026-11-23T00:00:00.000Z',
    '24h': '2026-11-21T12:00:00.000Z 2026-11-22T12:00:00.000Z',
    '7d': '2026-11-16T00:00:00.000Z 2026-11-23T00:00:00.000Z',
    '30d': '2026-10-24T00:00:00.000Z 2026-11-23T00:00:00.000Z',
    month: '2026-11-01T00:00:00.000Z 2026-12-01T00:00:00.000Z',
  } as const
  for (const range of RANGES) {
    if (range === 'custom') continue
    const period = resolvePeriod({ range }, NOW, '24h')
    assert.equal(bounds(period), expected[range], range)
    assert.equal(period.range, range)
  }
  assert.equal(resolvePeriod({ range: 'month' }, NOW, '24h').label, 'November 2026')
  assert.equal(resolvePeriod({}, NOW, '7d').label, 'Last 7 days')
})

test('every range holds now, and asks the same for a while', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4_000_000_000_000 }),
      fc.constantFrom('1h', 'today', '24h', '7d', '30d', 'month'),
      (now, range) => {
        const period = resolvePeriod({ range }, now, 'today')
        assert.ok(Date.parse(period.start) <= now)
        assert.ok(now <= Date.parse(period.end))
        const minute = Math.ceil(now / 60_000) * 60_000
        assert.equal(bounds(resolvePeriod({ range }, minute - (minute > now ? 1 : 0), 'today')), bounds(period))
      },
    ),
  )
})

test('custom days include the last one, in whichever order they are named', () => {
  const expected = '2026-11-03T00:00:00.000Z 2026-11-10T00:00:00.000Z'
  const days = resolvePeriod({ range: 'custom', from: '2026-11-03', to: '2026-11-09' }, NOW, '7d')
  assert.equal(bounds(days), expected)
  assert.equal(days.label, 'Nov 3 – 9, 2026')
  assert.equal(bounds(resolvePeriod({ range: 'custom', from: '2026-11-09', to: '2026-11-03' }, NOW, '7d')), expected)
  const one = resolvePeriod({ range: 'custom', from: '2026-11-03', to: '2026-11-03' }, NOW, '7d')
  assert.equal(bounds(one), '2026-11-03T00:00:00.000Z 2026-11-04T00:00:00.000Z')
  assert.equal(one.label, 'Nov 3, 2026')
})

test('custom times are exact, as a bar of a chart names them', () => {
  const search = { range: 'custom', from: '2026-11-03T10:00:00.000Z', to: '2026-11-03T11:00:00.000Z' } as const
  const hour = resolvePeriod(search, NOW, '7d')
  assert.equal(bounds(hour), '2026-11-03T10:00:00.000Z 2026-11-03T11:00:00.000Z')
  assert.equal(hour.label, 'Nov 3, 2026, 10:00 – 11:00 UTC')
})

test('a custom period without an end goes to the end of today, without a beginning it is the fallback', () => {
  const open = resolvePeriod({ range: 'custom', from: '2026-11-20' }, NOW, '7d')
  assert.equal(bounds(open), '2026-11-20T00:00:00.000Z 2026-11-23T00:00:00.000Z')
  const future = resolvePeriod({ range: 'custom', from: '2027-01-01' }, NOW, '7d')
  assert.equal(bounds(future), '2027-01-01T00:00:00.000Z 2027-01-02T00:00:00.000Z')
  assert.equal(resolvePeriod({ range: 'custom', to: '2026-11-20' }, NOW, '7d').range, '7d')
  const empty = { range: 'custom', from: '2026-11-20T10:00Z', to: '2026-11-20T10:00Z' } as const
  assert.equal(resolvePeriod(empty, NOW, 'today').range, 'today')
})

test('an address is read, and what it cannot mean is left out', () => {
  assert.deepEqual(readPeriodSearch({ range: '7d', from: '2026-11-03', other: 1 }), { range: '7d' })
  assert.deepEqual(readPeriodSearch({ from: '2026-11-03', to: '2026-11-09' }), {
    range: 'custom',
    from: '2026-11-03',
    to: '2026-11-09',
  })
  const unreadable: readonly unknown[] = ['', 'yesterday', '2026-02-30', '2026-13-01', 20261103, null, ['2026-11-03']]
  for (const from of [
    ...unreadable,
    '2026-11-03T10:00:00+01:00',
    '2026-11-03T25:00:00Z',
    `2026-11-03${'0'.repeat(99)}`,
  ])
    assert.deepEqual(readPeriodSearch({ range: 'custom', from }), { range: 'custom' })
  for (const range of ['8d', 7, null, {}, 'constructor']) assert.deepEqual(readPeriodSearch({ range }), {})
})

test('no address makes it throw, and every address gives a period that the API takes', () => {
  const moment = fc.oneof(fc.string(), fc.date({ noInvalidDate: true }).map(String), fc.anything(), day(), time())
  fc.assert(
    fc.property(fc.record({ range: fc.anything(), from: moment, to: moment }, { requiredKeys: [] }), (raw) => {
      const search = readPeriodSearch(raw)
      const period = resolvePeriod(search, NOW, '24h')
      assert.ok(Date.parse(period.start) < Date.parse(period.end))
      assert.deepEqual(readPeriodSearch({ ...search }), search)
      previousPeriod(period, NOW)
    }),
  )
})

function day(): fc.Arbitrary<string> {
  return time().map((iso) => iso.slice(0, 10))
}

function time(): fc.Arbitrary<string> {
  return fc.integer({ min: 0, max: 4_000_000_000_000 }).map((at) => new Date(at).toISOString())
}

test('the previous period ends where the period begins', () => {
  const week = previousPeriod(resolvePeriod({ range: '7d' }, NOW, '7d'))
  assert.equal(bounds(week), '2026-11-09T00:00:00.000Z 2026-11-16T00:00:00.000Z')
  const month = previousPeriod(resolvePeriod({ range: 'month' }, Date.parse('2026-03-31T12:00:00Z'), '7d'))
  assert.equal(bounds(month), '2026-02-01T00:00:00.000Z 2026-03-01T00:00:00.000Z')
})

test('a period that is not over is compared with as much of the one before', () => {
  const today = resolvePeriod({ range: 'today' }, NOW, '7d')
  assert.equal(bounds(previousPeriod(today, NOW)), '2026-11-21T00:00:00.000Z 2026-11-21T11:40:35.123Z')
  assert.equal(bounds(previousPeriod(today, NOW + DAY)), '2026-11-21T00:00:00.000Z 2026-11-22T00:00:00.000Z')
  // February is shorter than what has passed of March.
  const march = Date.parse('2026-03-31T12:00:00Z')
  const month = previousPeriod(resolvePeriod({ range: 'month' }, march, '7d'), march)
  assert.equal(bounds(month), '2026-02-01T00:00:00.000Z 2026-03-01T00:00:00.000Z')
})

test('days of the viewer are whole days there, and are called by their dates', () => {
  for (const zone of ['utc', 'local'] as const) {
    const { start, end, label } = resolvePeriod(daysSearch('2026-11-03', '2026-11-09', zone), NOW, '7d', zone)
    assert.equal(label, 'Nov 3 – 9, 2026')
    assert.deepEqual([dayOf(Date.parse(start), zone), dayOf(Date.parse(end) - 1, zone)], ['2026-11-03', '2026-11-09'])
    assert.equal(startOfDay(Date.parse(start), zone, { days: 7 }), Date.parse(end))
  }
})
