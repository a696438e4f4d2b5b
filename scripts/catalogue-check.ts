/**
 * `npm run catalogue:check`: what in the catalogue contradicts itself (exit 1), and what wants a look: sources read long
 * ago, dates that are near or past, models without a price (exit 0).
 */
import { parseArgs } from 'node:util'
import { CATALOGUE } from '../catalogue/index.ts'
import { textTable } from '../src/lib/text-table.ts'
import { PROVIDERS } from '../src/providers/index.ts'
import { catalogueFindings, type Finding } from './kit/catalogue-findings.ts'

const USAGE = `Usage: npm run -s catalogue:check -- [--json] [--stale-days N] [--near-days N]
  --json          prints {ok, today, models, findings: [{level, kind, model, message}]}
  --stale-days N  a source read longer ago is stale; 90 unless said
  --near-days N   how far ahead a shutdown or a price's end is told; 60 unless said`

const WHOLE_NUMBER = /^\d{1,5}$/

function readArguments(): { json: boolean; staleDays: number; nearDays: number } | undefined {
  try {
    const { values } = parseArgs({
      options: {
        json: { type: 'boolean', default: false },
        'stale-days': { type: 'string', default: '90' },
        'near-days': { type: 'string', default: '60' },
        help: { type: 'boolean', default: false },
      },
    })
    const { json, 'stale-days': stale, 'near-days': near } = values
    if (values.help || !WHOLE_NUMBER.test(stale) || !WHOLE_NUMBER.test(near)) return undefined
    return { json, staleDays: Number(stale), nearDays: Number(near) }
  } catch {
    return undefined
  }
}

function print(findings: readonly Finding[]): void {
  const rows = findings.map(({ level, kind, model, message }) => [level, kind, model, message])
  if (rows.length > 0) console.log(textTable(['level', 'kind', 'model', 'what'], rows))
  const errors = findings.filter(({ level }) => level === 'error').length
  console.log(`catalogue: ${CATALOGUE.length} models, ${errors} inconsistencies, ${findings.length - errors} warnings`)
}

const options = readArguments()
if (options === undefined) {
  console.error(USAGE)
  process.exit(2)
}
const { json, staleDays, nearDays } = options
const today = new Date().toISOString().slice(0, 10)
const providers = new Set(Object.keys(PROVIDERS))
const findings = catalogueFindings({ catalogue: CATALOGUE, providers, today, staleDays, nearDays })
const ok = findings.every(({ level }) => level !== 'error')
if (json) console.log(JSON.stringify({ ok, today, models: CATALOGUE.length, findings }, null, 2))
else print(findings)
process.exitCode = ok ? 0 : 1
