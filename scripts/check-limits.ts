/** Checks that `docs/limits.md` states the limits that the code has, and names a test for each. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type LimitRow, limitRows, missingRows, numberFaults, proofFaults, repeatedIds } from './kit/limits-table.ts'
import { productFiles, projectFiles, ROOT, report } from './source-files.ts'

const PAGE = 'docs/limits.md'

function read(path: string): string | undefined {
  return existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), 'utf8') : undefined
}

function faultsOf(row: LimitRow): string[] {
  return [...numberFaults(row, read), ...proofFaults(row, read)].map((fault) => `${PAGE}:${row.line}: ${fault}`)
}

const rows = limitRows(read(PAGE) ?? '')
report('limits', [
  ...rows.flatMap(faultsOf),
  ...missingRows(rows, productFiles(projectFiles())),
  ...repeatedIds(rows).map((id) => `${PAGE}: '${id}' is the id of several rows`),
])
