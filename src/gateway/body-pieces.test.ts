import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { joinBody, PIECE_VALUES, type Piece, splitBody } from './body-pieces.ts'

/** As another thread receives them. */
function joined(pieces: readonly Piece[]): unknown {
  const add = joinBody()
  let body: unknown
  for (const piece of pieces) body = add(structuredClone(piece))
  return body
}

function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + valuesIn(inner), 1)
}

const sizeOf = (piece: Piece): number =>
  piece.flatMap(({ values }) => values).reduce((sum: number, value) => sum + valuesIn(value), 0)

const name = fc.string({ maxLength: 4 }).filter((text) => text !== '__proto__')
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, 0, -0.5, '', 'x', [], {}),
    fc.array(tie('value'), { maxLength: 12 }),
    fc.dictionary(name, tie('value'), { maxKeys: 12 }),
  ),
}))

test('the pieces of a body join to the same JSON, each with less than twice the size', () => {
  fc.assert(
    fc.property(fc.dictionary(name, value), fc.integer({ min: 1, max: 20 }), (body, size) => {
      const pieces = [...splitBody(body, size)]
      for (const piece of pieces) assert.ok(sizeOf(piece) < 2 * size, `${sizeOf(piece)} values`)
      assert.equal(JSON.stringify(joined(pieces)), JSON.stringify(body))
    }),
  )
})

test('a body with many values in one list, in many lists or in names is split, a small one is not', () => {
  const lists = Array.from({ length: 20 }, () => Array.from({ length: 9_000 }, () => ({})))
  const names = Object.fromEntries(Array.from({ length: 19_000 }, (_, index) => [`k${index}`, [index]]))
  for (const body of [{ lists }, names, { deep: [[[{ names, lists }]]], after: 1 }]) {
    const pieces = [...splitBody(body)]
    assert.ok(pieces.length > 5)
    assert.ok(pieces.every((piece) => sizeOf(piece) < 2 * PIECE_VALUES))
    assert.equal(JSON.stringify(joined(pieces)), JSON.stringify(body))
  }
  assert.equal([...splitBody({ messages: [{ role: 'user', content: 'hi' }] })].length, 1)
})
