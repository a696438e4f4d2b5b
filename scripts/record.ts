/**
 * `npm run record -- PROVIDER [--model M] [--out DIR]`: sends the standard cases to a host with a real key, through its codec
 * and transport, and stores the responses. It writes nothing if any file would contain a key.
 */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { loadCliConfig } from '../src/cli/configuration.ts'
import { processEnvironment } from '../src/config/environment.ts'
import type { Config } from '../src/config/schema.ts'
import { textTable } from '../src/lib/table.ts'
import { hostOf, type WantedHost, WrongUsage } from './kit/recorded-host.ts'
import { type Outcome, type RecordedHost, recordCase } from './kit/recorder.ts'
import { writeRecordings } from './kit/recording-files.ts'
import { findSecrets, type Secret, secretsOf } from './kit/secret-search.ts'
import { STANDARD_CASES, type StandardCase } from './kit/standard-cases.ts'

const USAGE = `Usage: npm run -s record -- PROVIDER [--model M] [--out DIR] [--only CASE,CASE]
  PROVIDER  a built-in provider whose key is in its variable, or one of the configuration file
  --model   the provider's own name of the model (default: the catalogue's newest)
  --out     the folder of the recordings (default: ./recordings)
  --only    some of ${STANDARD_CASES.map(({ name }) => name).join(', ')}`

/** Shorter variables with the name of a secret are settings. */
const MIN_SECRET_LENGTH = 8
const MAX_REASON_LENGTH = 160

interface Arguments extends WantedHost {
  readonly folder: string
  readonly cases: readonly StandardCase[]
}

function readArguments(): Arguments {
  const text = { type: 'string' } as const
  const { values, positionals } = parseArgs({
    options: { model: text, out: text, only: text, help: { type: 'boolean' } },
    allowPositionals: true,
  })
  const [provider, ...others] = positionals
  if (provider === undefined || others.length > 0 || values.help === true) throw new WrongUsage(USAGE)
  const names = values.only?.split(',')
  const unknown = names?.find((name) => !STANDARD_CASES.some((standard) => standard.name === name))
  if (unknown !== undefined) throw new WrongUsage(`Unknown case '${unknown}'.\n\n${USAGE}`)
  const cases = STANDARD_CASES.filter(({ name }) => names === undefined || names.includes(name))
  return { provider, model: values.model, folder: resolve(values.out ?? 'recordings'), cases }
}

/** Returns all secrets of the configuration, and environment variables with the name of a secret. */
function knownSecrets(config: Config, { credential }: RecordedHost): Secret[] {
  const environment = secretsOf(processEnvironment, 'environment').filter(
    ({ value }) => value.length >= MIN_SECRET_LENGTH,
  )
  return [{ name: 'the key that was used', value: credential }, ...secretsOf(config), ...environment]
}

async function recordAll(host: RecordedHost, cases: readonly StandardCase[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const standard of cases) {
    if (standard.credential !== undefined && host.credential === '') continue
    outcomes.push(await recordCase(host, standard))
  }
  return outcomes
}

/** @returns the exit code. */
async function main(): Promise<number> {
  const given = readArguments()
  const config = await loadCliConfig()
  const { host, upstreams } = hostOf(given, config)
  const outcomes = await recordAll(host, given.cases).finally(() => upstreams.close())
  const kept = outcomes.flatMap(({ rendered }) => rendered ?? [])
  const said = outcomes.map(({ name, said: text }) => ({ place: `${name}, the reason given`, text }))
  const found = findSecrets(knownSecrets(config, host), [...kept.flatMap(textsOf), ...said])
  printOutcomes(outcomes, found.length === 0)
  if (found.length > 0) {
    const places = [...new Set(found.map(({ name, place }) => `  ${name} in ${place}`))]
    console.error(`Nothing was written, because the recordings contain keys:\n${places.join('\n')}`)
    return 1
  }
  if (kept.length === 0) {
    console.error('Nothing was recorded.')
    return 1
  }
  writeRecordings(given.folder, kept)
  console.log(`${kept.length} of ${outcomes.length} cases of ${host.model} are in ${given.folder}.`)
  console.log('Read them before you share them: an answer can name your organisation.')
  return 0
}

/** @param withReasons Whether to print reasons of hosts, which may contain keys. */
function printOutcomes(outcomes: readonly Outcome[], withReasons: boolean): void {
  const rows = outcomes.map(({ name, outcome, said }) => {
    const reason = withReasons ? said.replace(/\s+/g, ' ').slice(0, MAX_REASON_LENGTH) : ''
    return [name, reason === '' ? outcome : `${outcome}: ${reason}`]
  })
  console.log(textTable(['case', 'outcome'], rows, Number.POSITIVE_INFINITY))
}

function textsOf({ texts, entry }: NonNullable<Outcome['rendered']>) {
  return texts.map(({ place, text }) => ({ place: `${entry.file}, ${place}`, text }))
}

try {
  process.exitCode = await main()
} catch (error) {
  const isUsage =
    error instanceof WrongUsage ||
    (error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'))
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = isUsage ? 2 : 1
}
