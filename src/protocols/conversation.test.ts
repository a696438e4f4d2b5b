import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDataUrl } from './conversation.ts'

test('base64 is handed on as it is, and read as text when asked for', () => {
  const url = readDataUrl('DATA:Text/Plain; charset=utf-8; Base64 ,aMOp')
  assert.equal(url?.mediaType, 'text/plain')
  assert.equal(url?.base64(), 'aMOp')
  assert.equal(url?.text(), 'hé')
})

test('percent escapes are read, and stand for themselves where they cannot be', () => {
  assert.equal(readDataUrl('data:,a%20b,c')?.text(), 'a b,c')
  assert.equal(readDataUrl('data:,a%20b')?.base64(), 'YSBi')
  assert.equal(readDataUrl('data:,100%')?.text(), '100%')
})

test('other addresses are no data URLs', () => {
  for (const url of ['https://example.com/data:,a', 'data:text/plain', '']) assert.equal(readDataUrl(url), undefined)
})
