/**
 * `npm run catalogue:check`: reports inconsistencies of the catalogue (exit code 1), and as warnings (exit code 0) differences
 * from published price collections, old sources, near or past dates, and models without a price.
 */
import { parseArgs } from 'node:util'
import { CATALOGUE } from '../catalogue/index.ts'
import { textTable } from '../src/lib/table.ts'
import { PROVIDERS } from '../src/providers/index.ts'
import { catalogueFindings, type Finding } from './kit/catalogue-findings.ts'
import type { PriceSource } from './price-sources/facts.ts'
import { fetchSources, readModelsDev } from './price-sources/fetch.ts'
import { readSnapshot, writeSnapshot } from './price-sources/snapshot.ts'

const USAGE = `Usage: npm run -s catalogue:check -- [--json] [--all] [--fetch [--save]] [--models-dev FILE] [--stale-days N] [--near-days N]
  --json             prints {ok, today, models, sources: [{name, version, date, models}], findings: [{level, kind, model, message}]}
  --all              also lists differences that an entry explains
  --fetch            compares with the newest collections, downloaded with pip and npm, instead of the stored snapshot
  --save             stores what was fetched as the new snapshot
  --models-dev FILE  also compares with models.dev: its api.json, downloaded from https://models.dev/api.json
  --stale-days N     age in days at which a source is stale (default: 90)
  --near-days N      days ahead for which shutdowns and ends of prices are reported (default: 60)`

const WHOLE_NUMBER = /^\d{1,5}$/

interface Options {
  readonly json: boolean
  readonly all: boolean
  readonly fetch: boolean
  readonly save: boolean
  readonly modelsDev: string | undefined
  readonly staleDays: number
  readonly nearDays: number
}

function readArguments(): Options | undefined {
  try {
    const flag = { type: 'boolean', default: false } as const
    const { values } = parseArgs({
      options: {
        json: flag,
        all: flag,
        fetch: flag,
        save: flag,
        'models-dev': { type: 'string' },
        'stale-days': { type: 'string', default: '90' },
        'near-days': { type: 'string', default: '60' },
        help: flag,
      },
    })
    const { json, all, fetch, save, 'stale-days': stale, 'near-days': near } = values
    if (values.help || (save && !fetch) || !WHOLE_NUMBER.test(stale) || !WHOLE_NUMBER.test(near)) return undefined
    const modelsDev = values['models-dev']
    return { json, all, fetch, save, modelsDev, staleDays: Number(stale), nearDays: Number(near) }
  } catch {
    return undefined
  }
}

async function readSources({ fetch, save, modelsDev }: Options, today: string): Promise<PriceSource[]> {
  const sources = fetch ? await fetchSources(CATALOGUE, today) : readSnapshot()
  if (save) writeSnapshot(sources)
  return modelsDev === undefined ? sources : [...sources, readModelsDev(modelsDev, CATALOGUE)]
}

function print(findings: readonly Finding[], sources: readonly PriceSource[], all: boolean): void {
  const shown = all ? findings : findings.filter(({ kind }) => kind !== 'settled')
  const rows = shown.map(({ level, kind, model, message }) => [level, kind, model, message])
  if (rows.length > 0) console.log(textTable(['level', 'kind', 'model', 'what'], rows, Number.POSITIVE_INFINITY))
  for (const { name, version, date, models } of sources) {
    console.log(`compared with ${name} ${version} of ${date}, with ${Object.keys(models).length} deployments`)
  }
  const count = (level: Finding['level']): number => findings.filter((finding) => finding.level === level).length
  console.log(
    `catalogue: ${CATALOGUE.length} models, ${count('error')} inconsistencies, ${count('warning')} warnings, ${count('settled')} explained differences`,
  )
}

const options = readArguments()
if (options === undefined) {
  console.error(USAGE)
  process.exit(2)
}
const { json, all, staleDays, nearDays } = options
const today = new Date().toISOString().slice(0, 10)
const providers = new Set(Object.keys(PROVIDERS))
const sources = await readSources(options, today)
const findings = catalogueFindings({ catalogue: CATALOGUE, providers, sources, today, staleDays, nearDays })
const ok = findings.every(({ level }) => level !== 'error')
if (json) {
  const read = sources.map(({ models, ...source }) => ({ ...source, models: Object.keys(models).length }))
  console.log(JSON.stringify({ ok, today, models: CATALOGUE.length, sources: read, findings }, null, 2))
} else print(findings, sources, all)
process.exitCode = ok ? 0 : 1
