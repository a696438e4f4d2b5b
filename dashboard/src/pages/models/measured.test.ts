import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstTokenText, uptimeText } from './measured.ts'

const byModel = new Map([
  ['busy', { first_byte_ms: { p50: 840 }, success_rate: 0.9875 }],
  ['left', { first_byte_ms: null, success_rate: null }],
])

test('a model that nobody called says so; where clients left or nothing is known yet, nothing is said', () => {
  const speeds = { byModel, isSampled: false }
  assert.deepEqual(
    ['busy', 'left', 'idle'].map((id) => [firstTokenText(speeds, id), uptimeText(speeds, id)]),
    [
      ['840 ms', '98.8%'],
      [undefined, undefined],
      [undefined, 'no calls'],
    ],
  )
  assert.equal(uptimeText(undefined, 'idle'), undefined)
})

test('who is not among the newest requests may have been called before them', () => {
  assert.equal(uptimeText({ byModel, isSampled: true }, 'idle'), undefined)
})
