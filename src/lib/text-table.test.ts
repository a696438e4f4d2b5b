import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textTable } from './text-table.ts'

test('columns are as wide as their widest cell, and lines have no spaces at their end', () => {
  const rows = [
    ['1', 'long name'],
    ['22', ''],
  ]
  assert.equal(textTable(['ID', 'NAME'], rows), 'ID  NAME\n1   long name\n22\n')
})

test('without rows there is still the header', () => {
  assert.equal(textTable(['A', 'B'], []), 'A  B\n')
})
