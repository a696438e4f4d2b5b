import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { occurrencesOf, positionOf, replaceExact } from './replacement.ts'
import { ToolError } from './tool.ts'

const TEXT = fc
  .array(fc.constantFrom('a', 'b', 'ab', '\n', '\r\n', ' ', '$&', 'é', '\\'), { maxLength: 40 })
  .map((parts) => parts.join(''))

test('what stands around a replaced text stays byte for byte, and what is not exact changes nothing', () => {
  fc.assert(
    fc.property(TEXT, TEXT, TEXT, (before, given, after) => {
      fc.pre(given !== '')
      const text = `${before}${given}${after}`
      // in a file whose lines all end with CRLF, a line end is a CRLF
      const isCrLf = text.includes('\r\n') && !/(?<!\r)\n/.test(text) && !given.includes('\r')
      const old = isCrLf ? given.replaceAll('\n', '\r\n') : given
      const places = text.split(old).length - 1
      try {
        const result = replaceExact(text, { old: given, new: '«new»', replacesAll: false })
        assert.equal(places, 1)
        const at = text.indexOf(old)
        assert.equal(result.text, `${text.slice(0, at)}«new»${text.slice(at + old.length)}`)
        assert.equal(result.line, text.slice(0, at).split('\n').length)
      } catch (error) {
        assert.ok(error instanceof ToolError, String(error))
        assert.notEqual(places, 1)
      }
    }),
  )
})

test('a text over lines of both kinds of ends is found by either', () => {
  const mixed = 'a\r\nb\nc\n'
  assert.equal(replaceExact(mixed, { old: 'a\nb', new: 'x\ny', replacesAll: false }).text, 'x\r\ny\nc\n')
  assert.equal(replaceExact(mixed, { old: 'b\nc', new: 'x\ny', replacesAll: false }).text, 'a\r\nx\ny\n')
})

test('all places are replaced when all are meant, once each', () => {
  fc.assert(
    fc.property(TEXT, TEXT, (text, old) => {
      fc.pre(old !== '' && text.includes(old) && !text.includes('\r'))
      const result = replaceExact(text, { old, new: `<${old}>`, replacesAll: true })
      assert.equal(result.text, text.split(old).join(`<${old}>`))
      assert.equal(result.count, text.split(old).length - 1)
    }),
  )
})

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
