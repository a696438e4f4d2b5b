import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../lib/json.ts'
import { contextOf, createReasoningDetails, detailsIn, detailsOf } from './response.ts'

function gather(pieces: readonly Json[]): readonly Json[] {
  const details = createReasoningDetails()
  for (const piece of pieces) details.add(piece)
  return details.list()
}

test('text in pieces becomes one detail, with the signature that came last', () => {
  const text = { type: 'reasoning.text', format: 'f', index: 0 }
  assert.deepEqual(
    gather([
      { ...text, text: 'a', signature: null },
      { ...text, text: 'b' },
      { ...text, signature: 's' },
    ]),
    [{ ...text, text: 'ab', signature: 's' }],
  )
})

test('details of another index or type are others, and encrypted ones are never joined', () => {
  const details = [
    { type: 'reasoning.summary', summary: 'a', index: 0 },
    { type: 'reasoning.encrypted', data: 'x', index: 0 },
    { type: 'reasoning.encrypted', data: 'y', index: 0 },
    { type: 'reasoning.text', text: 'b', index: 1 },
  ]
  assert.deepEqual(gather(details), details)
})

test('what goes out comes back, and every entry says its index', () => {
  const details = [
    { type: 'reasoning.text', text: 'a' },
    { type: 'reasoning.encrypted', data: 'x', index: 7 },
  ]
  const indexed = [{ ...details[0], index: 0 }, details[1]]
  assert.deepEqual(detailsOf(contextOf(details)), indexed)
})

test('entries that are no details are left out', () => {
  assert.deepEqual(detailsIn({ reasoning_details: [1, null, 'x', [], { type: 'reasoning.text' }] }), [
    { type: 'reasoning.text' },
  ])
  assert.deepEqual(detailsIn({ reasoning_details: {} }), [])
})
