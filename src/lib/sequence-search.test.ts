import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { occurrencesOf, positionOf } from './sequence-search.ts'

const text = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength })

test('a part is found where String.indexOf finds it, repeated parts without overlap', () => {
  const parts = fc.oneof(
    text(4),
    text(4).map((part) => part.repeat(40)),
  )
  fc.assert(
    fc.property(text(300), parts, (whole, part) => {
      const padded = `${whole}${part}${whole}`
      const starts = occurrencesOf(padded, part)
      if (part === '') assert.deepEqual(starts, [])
      else
        assert.equal(
          starts.reduceRight((rest, at) => rest.slice(0, at) + rest.slice(at + part.length), padded),
          padded.split(part).join(''),
        )
      assert.equal(positionOf(padded, part), padded.indexOf(part))
      assert.equal(positionOf([...padded], [...part]), padded.indexOf(part))
    }),
    { numRuns: 500 },
  )
})

test('a part that agrees with the whole up to its end is sought in linear time', () => {
  const whole = 'a'.repeat(2_000_000)
  assert.deepEqual(occurrencesOf(whole, `b${'a'.repeat(500_000)}`), []) // quadratic: 10¹² comparisons
  assert.deepEqual(occurrencesOf(whole, `${'a'.repeat(500_000)}b`), [])
})
