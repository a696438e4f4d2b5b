import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { replaceExact } from './replacement.ts'
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
