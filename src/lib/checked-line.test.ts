import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createLineWriter, readLine, splitLines } from './checked-line.ts'

const writer = createLineWriter()

function lineOf(text: string): Buffer {
  const length = writer.encode(text)
  return Buffer.from(writer.bytes().subarray(0, length))
}

function textsOf(content: Uint8Array): (string | undefined)[] {
  return [...splitLines(content)].map(readLine)
}

const json = fc.jsonValue().map((value) => JSON.stringify(value))

test('what was written is read again, however long it is', () => {
  fc.assert(fc.property(fc.array(json), (texts) => assert.deepEqual(textsOf(Buffer.concat(texts.map(lineOf))), texts)))
  for (const length of [21_000, 22_000, 70_000]) {
    const text = '\u20ac'.repeat(length)
    assert.deepEqual(textsOf(lineOf(text)), [text])
  }
  assert.deepEqual(textsOf(lineOf('short again')), ['short again'])
})

test('the checksum is the CRC-32 that other tools know', () => {
  assert.equal(lineOf('123456789').toString(), 'cbf43926 123456789\n')
})

test('a file that is cut off anywhere has the lines before the cut, and nothing else', () => {
  const texts = ['["D","a"]', '["S",{"n":"é"}]', '["D","b"]']
  const content = Buffer.concat(texts.map(lineOf))
  for (let end = 0; end <= content.length; end++) {
    const cut = content.subarray(0, end)
    const whole = cut.toString('latin1').split('\n').length - 1
    assert.deepEqual(textsOf(cut), texts.slice(0, whole))
  }
})

test('a byte that has changed is noticed, and costs no other line', () => {
  const texts = ['["D","a"]', '["D","b"]', '["D","c"]']
  const lines = texts.map(lineOf)
  const [, middle] = lines
  assert.ok(middle)
  for (let at = 0; at < middle.length - 1; at++) {
    for (const bit of [1, 16, 128]) {
      const changed = Buffer.from(middle)
      changed[at] = (changed[at] ?? 0) ^ bit
      if (changed[at] === 10) continue
      const [first, read, last] = textsOf(Buffer.concat([lines[0] ?? middle, changed, lines[2] ?? middle]))
      assert.deepEqual([first, read, last], [texts[0], undefined, texts[2]], `byte ${at}`)
    }
  }
})
