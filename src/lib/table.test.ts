import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { renderCsv, textTable, wrappedTable } from './table.ts'

/** A reader by the grammar of RFC 4180, which shares nothing with the writer. */
function readCsv(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  const field = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/y
  while (field.lastIndex < text.length) {
    const [, content = '', end] = field.exec(text) ?? assert.fail(`not CSV: ${JSON.stringify(text)}`)
    row.push(content.startsWith('"') ? content.slice(1, -1).replaceAll('""', '"') : content)
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}

test('only fields that need it are quoted, and every row ends in CRLF', () => {
  const rows = [
    ['group', 'tokens'],
    ['plain model', 12],
    ['a,b', 1],
    ['say "hi"', 2],
    ['two\nlines', 3],
    ['', 0],
  ]
  const expected = 'group,tokens\r\nplain model,12\r\n"a,b",1\r\n"say ""hi""",2\r\n"two\nlines",3\r\n,0\r\n'
  assert.equal(renderCsv(rows), expected)
})

test('what is written reads back the same', () => {
  const text = fc.string({ unit: fc.constantFrom('a', ',', '"', '\r', '\n', ' ', 'é', "'") })
  const table = fc.array(fc.array(text, { minLength: 2, maxLength: 4 }), { maxLength: 5 })
  fc.assert(fc.property(table, (rows) => assert.deepEqual(readCsv(renderCsv(rows)), rows)))
})

test('columns are as wide as their widest cell, and lines have no spaces at their end', () => {
  const rows = [
    ['1', 'long name'],
    ['22', ''],
  ]
  assert.equal(textTable(['ID', 'NAME'], rows), 'ID  NAME\n1   long name\n22\n')
})

test('a wide table is cut to its width at the widest columns, never at the first', () => {
  const id = 'key_'.padEnd(28, 'x')
  const table = textTable(
    ['ID', 'NAME', 'NOTE'],
    [
      [id, 'n'.repeat(60), 'short'],
      [id, 'm', 'o'.repeat(80)],
    ],
  )
  for (const line of table.split('\n')) assert.ok(line.length <= 100, line)
  assert.equal(table.split(id).length, 3)
  assert.match(table, /n…/)
  assert.equal(textTable(['A', 'B'], [['1', 'x'.repeat(200)]], 300).split('\n')[1], `1  ${'x'.repeat(200)}`)
})

test('a wrapped table has every word, and is as wide as it may be', () => {
  const words = Array.from({ length: 40 }, (_, number) => `word${number}`)
  const table = wrappedTable(
    ['NAME', 'VALUE', 'SOURCE'],
    [
      ['a', words.join(' '), 'file'],
      ['b', 'x'.repeat(150), 'y'.repeat(60)],
    ],
  )
  for (const line of table.split('\n')) assert.ok(line.length <= 100, line)
  for (const word of words) assert.match(table, new RegExp(`\\b${word}\\b`))
  assert.deepEqual([table.split('x').length, table.split('y').length], [151, 61])
  assert.doesNotMatch(table, /…/)
  assert.equal(wrappedTable(['ID', 'NAME'], [['1', 'short']]), textTable(['ID', 'NAME'], [['1', 'short']]))
})

test('without rows there is still the header', () => {
  assert.equal(textTable(['A', 'B'], []), 'A  B\n')
})
