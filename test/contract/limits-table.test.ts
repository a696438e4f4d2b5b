/** OVL-1: the table of `docs/limits.md` is what the code has and what tests prove, row by row. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { capsOf, limitRows, numberFaults, proofFaults, repeatedIds } from '../../scripts/kit/limits-table.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string): string | undefined =>
  existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), 'utf8') : undefined
const rows = limitRows(read('docs/limits.md') ?? '')

test('OVL-1: the table is there, and no two of its rows have one id', () => {
  assert.ok(rows.length >= 60, `${rows.length} rows`)
  assert.deepEqual(repeatedIds(rows), [])
})

for (const row of rows) {
  test(`OVL-1: ${row.what}: ${row.caps}`, () => {
    assert.deepEqual([...numberFaults(row, read), ...proofFaults(row, read)], [])
  })
}

test('limits are read with their units, in the unit of the code', () => {
  const cells: readonly (readonly [cell: string, caps: readonly number[]])[] = [
    ['16 KiB, 100 fields', [16_384, 100]],
    ['10 000, for 5 s', [10_000, 5_000]],
    ['256 Ki characters a call', [262_144]],
    ['10 s, 60 s', [10_000, 60_000]],
    ['5 s, 60 s, 120 s, 30 min', [5_000, 60_000, 120_000, 1_800_000]],
    ['2500 ms, 24 h, 85 %', [2_500, 86_400_000, 0.85]],
    ['1 000 000 settlements', [1_000_000]],
    ['by plan; 500 unless set', [500]],
    ['by plan', []],
  ]
  for (const [cell, caps] of cells) assert.deepEqual(capsOf(cell), caps, cell)
})
