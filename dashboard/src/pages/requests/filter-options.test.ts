import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastWithout, optionName, statusCounts } from './filter-options.ts'

const option = (value: string, count?: number) => ({ value, label: value, count })

test('a choice is read out with its requests, where they are known', () => {
  assert.equal(optionName(option('gpt-5.4-mini', 1204)), 'gpt-5.4-mini, 1,204 requests')
  assert.equal(optionName(option('gpt-5.4-mini', 1)), 'gpt-5.4-mini, 1 request')
  assert.equal(optionName(option('gpt-5.4-mini', 0)), 'gpt-5.4-mini, 0 requests')
  assert.equal(optionName(option('gpt-5.4-mini')), 'gpt-5.4-mini')
})

test('those without a request come last, and nothing else moves', () => {
  const options = [option('a', 0), option('b', 2), option('c', 0), option('d', 9), option('e')]
  assert.deepEqual(
    lastWithout(options).map(({ value }) => value),
    ['b', 'd', 'e', 'a', 'c'],
  )
})

test('the bars of the histogram add up to what there is of each status', () => {
  const bucket = { at: '2026-11-22T10:00:00Z', completed: 3, failed: 1, incomplete: 0, client_left: 2 }
  const counts = statusCounts({ buckets: [bucket, { ...bucket, at: '2026-11-22T11:00:00Z', failed: 4 }] })
  assert.deepEqual(counts, { completed: 6, failed: 5, incomplete: 0, client_left: 4 })
  assert.deepEqual(statusCounts({ buckets: [] }), { completed: 0, failed: 0, incomplete: 0, client_left: 0 })
})
