import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AccountId, base62Source, completionIdFloor, createIdSource, ledgerId, toBase62 } from './ids.ts'

const LAST_MS = 62 ** 8 - 1
const times = fc.integer({ min: 0, max: LAST_MS })

test('every kind of ID has its prefix and 22 characters', () => {
  const ids = createIdSource(Date.now, randomBytes)
  assert.match(ids.account(), /^acc_[0-9A-Za-z]{22}$/)
  assert.match(ids.key(), /^key_[0-9A-Za-z]{22}$/)
  assert.match(ids.completion(), /^chatcmpl-[0-9A-Za-z]{22}$/)
  assert.match(ids.request(), /^req_[0-9A-Za-z]{22}$/)
})

test('IDs sort by the time of their creation', () => {
  fc.assert(
    fc.property(times, times, (a, b) => {
      fc.pre(a < b)
      let now = a
      const ids = createIdSource(() => now, randomBytes)
      const first = ids.completion()
      now = b
      assert.ok(first < ids.completion())
    }),
  )
})

test('the floors of two moments enclose the IDs created between them', () => {
  fc.assert(
    fc.property(times, (ms) => {
      fc.pre(ms < LAST_MS)
      const { completion } = createIdSource(() => ms, randomBytes)
      const id = completion()
      assert.ok(completionIdFloor(ms) <= id && id < completionIdFloor(ms + 1))
    }),
  )
  assert.equal(completionIdFloor(-5), completionIdFloor(0))
})

test('IDs have the time of a clock that goes back and forth', () => {
  let now = 5
  const ids = createIdSource(() => now, randomBytes)
  for (const ms of [5, 6, 5, 7]) {
    now = ms
    assert.ok(ids.request().startsWith(`req_${toBase62(ms, 8)}`))
  }
})

test('base-62 text is padded and keeps the order of numbers', () => {
  assert.deepEqual(
    [0, 9, 10, 35, 36, 61, 62, 3843].map((value) => toBase62(value, 3)),
    ['000', '009', '00A', '00Z', '00a', '00z', '010', '0zz'],
  )
  fc.assert(
    fc.property(times, times, (a, b) => {
      assert.equal(toBase62(a, 8) < toBase62(b, 8), a < b)
    }),
  )
})

test('random characters are unbiased: bytes spread evenly give every character equally often', () => {
  let next = 0
  const random = base62Source((size) => Uint8Array.from({ length: size }, () => next++ % 256))
  const counts = new Map<string, number>()
  for (const character of random(62 * 4 * 25)) counts.set(character, (counts.get(character) ?? 0) + 1)
  assert.equal(counts.size, 62)
  assert.deepEqual(new Set(counts.values()), new Set([100]))
})

test('randomness is never used twice', () => {
  const blocks: number[] = []
  let fill = 0
  const random = base62Source((size) => {
    blocks.push(size)
    return new Uint8Array(size).fill(fill++)
  })
  const drawn = blocks.length
  const text = Array.from({ length: 300 }, () => random(14)).join('')
  assert.equal(blocks.length - drawn, Math.ceil((300 * 14) / 1024))
  assert.equal(
    text,
    [...Array(5).keys()]
      .map((i) => toBase62(i, 1).repeat(1024))
      .join('')
      .slice(0, text.length),
  )
})

test('a hundred thousand IDs of one millisecond are all different', () => {
  const { request } = createIdSource(() => 1_760_000_000_000, randomBytes)
  assert.equal(new Set(Array.from({ length: 100_000 }, request)).size, 100_000)
})

const ACCOUNT = 'acc_0Uu1A2b3C4d5E6f7G8h9Ij' as AccountId
const numbers = fc.integer({ min: 1, max: 62 ** 7 - 1 })

test('IDs of ledger rows sort by number, and no two accounts or rows share one', () => {
  const other = 'acc_0Uu1A2b3C4d5E6f7G8h9Ik' as AccountId
  fc.assert(
    fc.property(times, fc.nat(1000), numbers, numbers, (ms, later, one, two) => {
      fc.pre(one < two && ms + later < LAST_MS)
      assert.match(ledgerId(ACCOUNT, one, ms), /^led_[0-9A-Za-z]{22}$/)
      assert.ok(ledgerId(ACCOUNT, one, ms) < ledgerId(ACCOUNT, two, ms + later))
      assert.notEqual(ledgerId(ACCOUNT, one, ms), ledgerId(other, one, ms))
    }),
  )
})
