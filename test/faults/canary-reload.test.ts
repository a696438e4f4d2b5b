/**
 * Weights of a virtual model shift by reloads while 500 requests arrive each second: none is dropped. A busy machine answers
 * fewer; `npm run bench -- --canary` measures whether this one reaches the rate. Runs on one database.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shiftCanary } from '../support/canary-shift.ts'

test('a canary shifts from none to all of up to 500 requests a second without dropping one', async (t) => {
  const { answers, later, perSecond, isReconciled } = await shiftCanary({ perSecond: 500, seconds: 4 })
  t.diagnostic(`${answers.length} requests, ${Math.round(perSecond)} a second, during 4 reloads`)
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  assert.deepEqual([...new Set(answers.map(({ model }) => model))].sort(), ['canary', 'stable'])
  assert.deepEqual([...new Set(later.map(({ model }) => model))], ['canary'])
  assert.equal(isReconciled, true)
})
