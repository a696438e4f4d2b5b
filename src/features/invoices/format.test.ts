import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptedFormat } from './routes.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

const CASES: readonly (readonly [accept: string | undefined, format: string])[] = [
  [undefined, 'json'],
  ['', 'json'],
  ['*/*', 'json'],
  ['application/json', 'json'],
  ['text/html', 'html'],
  ['text/csv', 'csv'],
  [BROWSER, 'html'],
  ['TEXT/CSV; q=0.9', 'csv'],
  ['text/*', 'html'],
  ['text/*, text/csv', 'csv'],
  ['text/html;q=0.4, text/csv;q=0.5', 'csv'],
  ['text/html;q=0, */*', 'json'],
  ['application/json;q=0, text/*', 'html'],
  ['text/csv, */*;q=0.1', 'csv'],
  ['image/png', 'json'],
  ['text/html;q=x', 'json'],
  ['text/html;level=1;q=0.7', 'html'],
]
for (const [accept, format] of CASES) {
  test(`Accept: ${accept ?? '(none)'} is answered as ${format}`, () => assert.equal(acceptedFormat(accept), format))
}

test('of a very long header only the beginning counts [limit: accept]', () => {
  assert.equal(acceptedFormat(`${'image/png,'.repeat(10_000)}text/csv`), 'json')
})
