import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { completionRecord } from '../../../../test/support/ledger/completions.ts'
import { PREPAID } from '../../../../test/support/ledger/spooled-credit.ts'
import type { CompletionRecord } from '../../../domain/completion.ts'
import type { SettleUnit } from '../ledger/unit.ts'
import { createLineWriter, parseRecord, readLine, splitLines, unitText } from './records.ts'

const attemptLog: CompletionRecord['attemptLog'] = [
  { provider: 'p', model: 'm', outcome: 'failed', status: 0, startedMs: 1, durationMs: 2 },
]

function unitOf(over: Partial<CompletionRecord> = {}): SettleUnit {
  return { kind: 'settle', record: completionRecord(over), terms: PREPAID, unrecorded: false, kept: undefined }
}

test('a settlement is read as it was written, with and without a log of its attempts', () => {
  for (const unit of [unitOf(), unitOf({ attemptLog, attempts: 2 })]) {
    assert.deepEqual(parseRecord(unitText('settled', unit)), { kind: 'settled', unit })
    assert.deepEqual(parseRecord(unitText('intent', unit)), { kind: 'intent', unit: { ...unit, provisional: true } })
  }
})

test('a settlement of a release that knew no log of attempts is read without one', () => {
  const unit = unitOf({ attemptLog })
  const [letter, { record, ...rest }] = JSON.parse(unitText('settled', unit))
  const { attemptLog: _, ...older } = record
  const read = parseRecord(JSON.stringify([letter, { ...rest, record: older }]))
  assert.deepEqual(read, { kind: 'settled', unit: { ...unit, record: { ...unit.record, attemptLog: undefined } } })
})

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
