import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { vectorBase64, vectorEvents, vectorJson, vectorsOf } from './openai-embeddings.ts'
import { ProviderError } from './protocol.ts'

const float = fc.float({ noNaN: true, noDefaultInfinity: true })
const floats = fc.array(float, { minLength: 1, maxLength: 50 })

function bitsOf(numbers: readonly number[]): string {
  return Buffer.from(Float32Array.from(numbers).buffer).toString('base64')
}

test('numbers and base64 of 32-bit floats convert exactly in both directions', () => {
  fc.assert(
    fc.property(floats, (numbers) => {
      const base64 = bitsOf(numbers)
      assert.equal(vectorBase64(numbers), base64)
      assert.equal(vectorBase64(base64), base64)
      for (const text of [vectorJson(base64), vectorJson(numbers)]) assert.equal(bitsOf(JSON.parse(text)), base64)
    }),
  )
})

test('numbers stay as the host wrote them, beyond 32 bits, too', () => {
  assert.equal(vectorJson([0.1, -1e-17, 3]), '[0.1,-1e-17,3]')
  assert.equal(vectorJson([-0, 1]), '[-0,1]')
})

test('what is no vector breaks the answer', () => {
  for (const value of [undefined, null, [], [1, '2'], [[1]], 'AAA', 'AAAA AAAA', {}, [Number.NaN]]) {
    assert.throws(() => vectorEvents([value], 1), ProviderError, JSON.stringify(value))
  }
  const infinite = bitsOf([Number.POSITIVE_INFINITY])
  assert.throws(() => vectorJson(infinite), ProviderError)
})

test('an answer without a report of usage has no figures', () => {
  assert.deepEqual(
    vectorEvents([[1]], undefined).map(({ type }) => type),
    ['extension', 'finish'],
  )
  const [first] = vectorEvents([[1, 2]], 3)
  assert.deepEqual(first && vectorsOf(first), [[1, 2]])
})
