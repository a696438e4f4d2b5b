/** Spools that were found damaged: each is kept as a directory beside the others, with a report of what was wrong with it. */
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AccountId, CompletionId } from '../../domain/ids.ts'
import { parseJson } from '../../lib/json.ts'
import { COMPLETE_FILE, spoolRoot } from './spool-directory.ts'

const REPORT_FILE = 'report.json'
const DAMAGED_NAME = /\.damaged(?:\.\d+)?$/

export interface DamageReport {
  readonly instance: string
  readonly found_at: string
  readonly problems: readonly string[]
  /** Completions whose end it did not tell. */
  readonly undecided: readonly { readonly account: AccountId; readonly completion: CompletionId }[]
}

/** @returns Where it is kept. */
export async function keepDamagedSpool(
  dataDirectory: string,
  directory: string,
  report: DamageReport,
): Promise<string> {
  await writeFile(join(directory, REPORT_FILE), JSON.stringify(report), { mode: 0o600, flush: true })
  await rm(join(directory, COMPLETE_FILE), { force: true })
  const root = spoolRoot(dataDirectory)
  const names = new Set(await readdir(root))
  let name = `${report.instance}.damaged`
  for (let count = 2; names.has(name); count++) name = `${report.instance}.damaged.${count}`
  await rename(directory, join(root, name))
  return join(root, name)
}

export interface DamagedSpool {
  readonly path: string
  /** Undefined: lines alone were kept, as they could not be read or the ledger refused them. */
  readonly report: DamageReport | undefined
}

export async function damagedSpools(dataDirectory: string): Promise<readonly DamagedSpool[]> {
  const root = spoolRoot(dataDirectory)
  const names = await readdir(root).catch(() => [])
  return Promise.all(
    names
      .filter((name) => DAMAGED_NAME.test(name))
      .sort()
      .map(async (name) => ({ path: join(root, name), report: await readReport(join(root, name, REPORT_FILE)) })),
  )
}

async function readReport(path: string): Promise<DamageReport | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (parseJson(text) as DamageReport | undefined) // written above
}
