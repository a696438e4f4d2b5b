import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDurationText, parseList, parsePort, parseUsd, parseWholeNumber } from './option-values.ts'

test('lists are split at commas', () => {
  assert.deepEqual(parseList('chat, usage:read'), ['chat', 'usage:read'])
  assert.throws(() => parseList('chat,'))
})

test('numbers are read as they are written, and nothing else is a number', () => {
  assert.equal(parsePort('0'), 0)
  assert.equal(parsePort('65535'), 65_535)
  assert.equal(parseUsd('12.5'), 12.5)
  assert.equal(parseWholeNumber('600'), 600)
  for (const text of ['', ' 1', '1e3', '0x10', '-1', '1.5', 'Infinity'])
    assert.throws(() => parseWholeNumber(text), text)
  for (const text of ['', '.5', '1.1234567', '-1', '$1', '1,5']) assert.throws(() => parseUsd(text), text)
  assert.throws(() => parsePort('65536'))
})

test('a duration needs a unit', () => {
  for (const text of ['1s', '90m', '12h', '30d']) assert.equal(parseDurationText(text), text)
  for (const text of ['30', 'd', '0d', '30 d', '1.5h', '30w']) assert.throws(() => parseDurationText(text), text)
})
