import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonLine, plainLine, plainText } from './output.ts'

const STEERING = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/

test('no control sequence passes, wherever the text is split', () => {
  const steering = ['\u001b', '[', ']', '2J', '\u009b', '\u0007', '\r', '\n', '\u202e', 'a']
  const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code))
  const piece = fc.array(fc.oneof(fc.constantFrom(...steering), unit)).map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const shown = pieces.map(plainText).join('')
      assert.doesNotMatch(shown, STEERING)
      assert.doesNotMatch(plainLine(pieces.join('')), /[\n\t]/)
      assert.doesNotMatch(jsonLine(pieces), STEERING)
      assert.deepEqual(JSON.parse(jsonLine(pieces)), pieces)
    }),
  )
})

test('sequences for titles, clipboards, colours and links become text', () => {
  assert.equal(
    plainText('\u001b]0;owned\u0007\u001b]52;c;cm0gLXJm\u0007\u001b[31mred\u001b[0m'),
    ']0;owned]52;c;cm0gLXJm[31mred[0m',
  )
  assert.equal(plainText('safe\rrm -rf /'), 'safe\nrm -rf /')
})

test('ordinary text stays unchanged', () => {
  const text = 'Grüße, 你好, مرحبا, 👩‍👩‍👧 – “quotes”\n\tindented\n'
  assert.equal(plainText(text), text)
  assert.equal(plainLine(' two\n words '), 'two words')
})
