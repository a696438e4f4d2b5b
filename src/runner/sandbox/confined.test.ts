import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { captureOutput } from './confined.ts'

function capture(maxBytes: number, chunks: readonly string[]): ReturnType<typeof captureOutput> {
  const output = captureOutput(maxBytes)
  for (const chunk of chunks) output.push(Buffer.from(chunk))
  return output
}

test('what fits is kept as it is, however it came', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 9 })), (chunks) => {
      const whole = chunks.join('')
      const output = capture(Math.max(2, Buffer.byteLength(whole)), chunks)
      assert.deepEqual([output.text(), output.isTruncated()], [whole, false])
    }),
  )
})

test('of what does not fit, the beginning and the end are kept, and it is said how much is not', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 20 }), fc.array(fc.stringMatching(/^[a-z]{0,30}$/)), (max, chunks) => {
      const whole = chunks.join('')
      fc.pre(whole.length > max)
      const output = capture(max, chunks)
      const head = whole.slice(0, Math.ceil(max / 2))
      const tail = whole.slice(whole.length - Math.floor(max / 2))
      assert.equal(output.text(), `${head}\n[${whole.length - max} bytes left out]\n${tail}`)
      assert.equal(output.isTruncated(), true)
    }),
  )
})
