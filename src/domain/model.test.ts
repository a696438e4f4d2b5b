import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  deprecationHeaders,
  endingPrices,
  isDeprecated,
  type Model,
  notPriced,
  type PricePeriod,
  priceEndText,
} from './model.ts'

const MODEL = { deprecationDate: '2026-08-05' }
const SHUTDOWN = Date.UTC(2026, 7, 5)

test('a model is deprecated from the day of its shutdown on, UTC', () => {
  assert.deepEqual([isDeprecated(MODEL, SHUTDOWN - 1), isDeprecated(MODEL, SHUTDOWN)], [false, true])
  assert.equal(isDeprecated({ deprecationDate: undefined }, SHUTDOWN), false)
})

test('headers are a structured date and an HTTP date; before the day the latter alone', () => {
  const sunset = 'Wed, 05 Aug 2026 00:00:00 GMT'
  assert.deepEqual(deprecationHeaders(MODEL, SHUTDOWN), { deprecation: '@1785888000', sunset })
  assert.deepEqual(deprecationHeaders(MODEL, SHUTDOWN - 1), { sunset })
  assert.equal(deprecationHeaders({ deprecationDate: undefined }, SHUTDOWN), undefined)
})

const DAY = 86_400_000
const period = (startsAt: number, endsAt: number): PricePeriod => ({
  price: { inputMicroUsd: 1, outputMicroUsd: 1 },
  version: `v${startsAt}`,
  startsAt,
  endsAt,
})
const model = (id: string, ...pricePeriods: readonly PricePeriod[]) =>
  ({ id, pricePeriods: pricePeriods.length === 0 ? undefined : pricePeriods }) as Model

test('the operator is told of prices that end within a week, or have ended, with nothing to follow', () => {
  const now = 100 * DAY
  const models = [
    model('without an end'),
    model('in 8 days', period(-Infinity, 108 * DAY)),
    model('in 7 days', period(-Infinity, 107 * DAY)),
    model('ended', period(-Infinity, 99 * DAY)),
    model('followed', period(-Infinity, 101 * DAY), period(101 * DAY, Infinity)),
    model('followed later', period(-Infinity, 101 * DAY), period(102 * DAY, Infinity)),
    model('between', period(-Infinity, 98 * DAY), period(102 * DAY, Infinity)),
    model('gap is over', period(-Infinity, 98 * DAY), period(99 * DAY, Infinity)),
    model('not yet', period(101 * DAY, Infinity)),
    { ...model('alias', period(-Infinity, 99 * DAY)), aliasOf: 'ended' },
  ]
  const ends = endingPrices(models, now)
  assert.deepEqual(
    ends.map(({ model: id, endsAt, hasEnded }) => [id, endsAt / DAY, hasEnded]),
    [
      ['in 7 days', 107, false],
      ['ended', 99, true],
      ['followed later', 101, false],
      ['between', 98, true],
      ['not yet', 100, true],
    ],
  )
  assert.deepEqual(ends.slice(0, 2).map(priceEndText), ['in 7 days ends on 1970-04-17', 'ended ended on 1970-04-09'])
})

test('a model that was never priced answers 422, one whose price has ended 503, both under one code', () => {
  const never = notPriced(model('a'))
  const ended = notPriced(model('a', period(0, 1)))
  assert.deepEqual([never.status, never.code, never.type], [422, 'model_not_priced', 'unprocessable_entity'])
  assert.deepEqual([ended.status, ended.code, ended.type], [503, 'model_not_priced', 'service_unavailable'])
  assert.equal(ended.retryable, false)
  assert.equal(ended.with({ headers: { 'x-a': 'b' } }).status, 503)
})
