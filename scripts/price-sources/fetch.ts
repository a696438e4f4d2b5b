/**
 * Downloads the newest published collections with pip and npm into a temporary folder, reads what they say of the
 * catalogue, and removes the folder. Nothing downloaded is run.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { CatalogueEntry } from '../../catalogue/entry.ts'
import { collectFacts, type FactsReader, type PriceSource } from './facts.ts'
import { genaiPricesReader } from './genai-prices.ts'
import { litellmReader } from './litellm.ts'
import { modelPricesReader } from './model-prices.ts'
import { modelsDevReader } from './models-dev.ts'
import { piReader } from './pi-ai.ts'

const PI_AI = '@earendil-works/pi-ai'
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

/** @param today ISO date: the date of a collection whose registry does not say when it was published. */
export async function fetchSources(catalogue: readonly CatalogueEntry[], today: string): Promise<PriceSource[]> {
  const folder = mkdtempSync(join(tmpdir(), 'price-sources-'))
  try {
    const wheels = [
      await fetchWheel('litellm', folder, today),
      await fetchWheel('genai-prices', folder, today),
      await fetchWheel('model-prices', folder, today),
    ] as const
    const [litellm, genai, history] = wheels
    const genaiData = join(genai.folder, 'genai_prices', 'data.py')
    const pi = fetchPi(folder)
    const source = ({ name, version, date }: Published, read: FactsReader): PriceSource => ({
      name,
      version,
      date,
      models: collectFacts(catalogue, read),
    })
    return [
      source(litellm, litellmReader(readJson(join(litellm.folder, 'litellm', `${LITELLM_FILE}.json`)))),
      source(genai, genaiPricesReader(readPythonList(genaiData, 'providers'), today)),
      source(pi, piReader(pi.hosts)),
      source(history, modelPricesReader(readJson(join(history.folder, 'model_prices', 'snapshot.json')), today)),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @param path models.dev's `api.json`, as https://models.dev/api.json gives it; its date is that of the file. */
export function readModelsDev(path: string, catalogue: readonly CatalogueEntry[]): PriceSource {
  const date = statSync(path).mtime.toISOString().slice(0, 10)
  return {
    name: 'models.dev',
    version: basename(path),
    date,
    models: collectFacts(catalogue, modelsDevReader(readJson(path))),
  }
}

const LITELLM_FILE = 'model_prices_and_context_window_backup'

interface Published {
  readonly name: string
  readonly version: string
  /** ISO date. */
  readonly date: string
}

async function fetchWheel(
  name: string,
  folder: string,
  today: string,
): Promise<Published & { readonly folder: string }> {
  const to = join(folder, name)
  run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary', ':all:', '--dest', to, name])
  const [wheel = ''] = readdirSync(to)
  run('python3', ['-m', 'zipfile', '-e', join(to, wheel), to])
  const version = wheel.split('-')[1] ?? ''
  return { name, version, date: await publishedAt(name, version, today), folder: to }
}

/** The day on which PyPI got the version; today where PyPI cannot be asked. */
async function publishedAt(name: string, version: string, today: string): Promise<string> {
  try {
    const answer = await fetch(`https://pypi.org/pypi/${name}/json`, { signal: AbortSignal.timeout(30_000) })
    const { releases } = (await answer.json()) as { releases: Record<string, { upload_time: string }[]> }
    return releases[version]?.[0]?.upload_time.slice(0, 10) ?? today
  } catch {
    return today
  }
}

function fetchPi(folder: string) {
  const { version, time } = JSON.parse(run('npm', ['view', PI_AI, 'version', 'time', '--json'])) as {
    version: string
    time: Record<string, string>
  }
  run('npm', ['pack', '--silent', '--pack-destination', folder, `${PI_AI}@${version}`])
  const archive = readdirSync(folder).find((file) => file.endsWith('.tgz')) ?? ''
  run('tar', ['-xzf', join(folder, archive), '-C', folder])
  const data = join(folder, 'package', 'dist', 'providers', 'data')
  const files = readdirSync(data).filter((file) => file.endsWith('.json'))
  const hosts = Object.fromEntries(files.map((file) => [file.replace('.json', ''), readJson(join(data, file))]))
  return {
    name: 'pi-ai',
    version,
    date: (time[version] ?? '').slice(0, 10),
    hosts: hosts as Parameters<typeof piReader>[0],
  }
}

function readPythonList(path: string, name: string): Parameters<typeof genaiPricesReader>[0] {
  return JSON.parse(run('python3', [join(import.meta.dirname, 'python-literals.py'), path, name]))
}

// biome-ignore lint/suspicious/noExplicitAny: a file of somebody else's, whose reader says what it expects
function readJson(path: string): any {
  return JSON.parse(readFileSync(path, 'utf8'))
}

function run(command: string, options: readonly string[]): string {
  return execFileSync(command, options, { encoding: 'utf8', maxBuffer: MAX_OUTPUT_BYTES, timeout: 600_000 })
}
