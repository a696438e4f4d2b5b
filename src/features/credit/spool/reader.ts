/** Reads the spool of another process. */
import { appendFile, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { AccountId, CompletionId } from '../../../domain/ids.ts'
import { isRecord, parseJson } from '../../../lib/json.ts'
import {
  CHECKPOINT_FILE,
  COMPLETE_FILE,
  DISPATCH_LOG,
  MONEY_LOG,
  OWNER_FILE,
  readOwner,
  type SpoolOwner,
  spoolRoot,
} from './directory.ts'
import { type Checkpoint, chainNext, chainStart, type LogState, type Seal } from './log.ts'
import { parseRecord, readLine, type SpoolRecord, splitLines } from './records.ts'

export interface SpoolContent {
  /** Undefined: unreadable. */
  readonly owner: SpoolOwner | undefined
  /** Whether every request that was sent to a provider is recorded. */
  readonly complete: boolean
  /** Paths, in the order in which they were written. */
  readonly dispatchFiles: readonly string[]
  readonly moneyFiles: readonly string[]
}

export interface ReadLine {
  /** Undefined: a damaged line. */
  readonly record: SpoolRecord | undefined
  readonly line: Uint8Array
}

/** Rejects with `ENOENT` if the directory is missing. */
export async function listSpool(directory: string): Promise<SpoolContent> {
  const names = (await readdir(directory)).sort()
  const logFiles = (log: string) =>
    names.filter((name) => name.startsWith(`${log}-`)).map((name) => join(directory, name))
  return {
    owner: names.includes(OWNER_FILE) ? await readOwner(directory) : undefined,
    complete: names.includes(COMPLETE_FILE),
    dispatchFiles: logFiles(DISPATCH_LOG),
    moneyFiles: logFiles(MONEY_LOG),
  }
}

/** Reads one file at a time, since all of them may exceed the memory. Omits a truncated last line. */
export async function* readRecords(files: readonly string[]): AsyncGenerator<ReadLine> {
  for (const file of files) {
    for (const line of splitLines(await readFile(file))) {
      const text = readLine(line)
      yield { record: text === undefined ? undefined : parseRecord(text), line }
    }
  }
}

/** Keeps lines that could not be used, for inspection. */
export async function quarantineLines(path: string, lines: readonly Uint8Array[]): Promise<void> {
  const parts = lines.flatMap((line) => [line, Buffer.from('\n')])
  await appendFile(path, Buffer.concat(parts), { mode: 0o600 })
}

/** Describes the damage of each log; empty: complete. */
interface Damage {
  readonly dispatched: readonly string[]
  readonly settled: readonly string[]
}

const NONE: Damage = { dispatched: [], settled: [] }

/** Logs of a release without checkpoints cannot be verified. */
export async function findDamage(directory: string, content: SpoolContent, instanceId: string): Promise<Damage> {
  if (content.owner?.checkpoint !== true) return NONE
  const checkpoint = parseCheckpoint(await readIfThere(join(directory, CHECKPOINT_FILE)))
  if (checkpoint === undefined) {
    const lost = ['the checkpoint is missing or damaged']
    return { dispatched: lost, settled: lost }
  }
  const look = (log: string, files: readonly string[]) =>
    findLogDamage({ log, files, instanceId, state: checkpoint[log] })
  const [dispatched, settled] = await Promise.all([
    look(DISPATCH_LOG, content.dispatchFiles),
    look(MONEY_LOG, content.moneyFiles),
  ])
  return { dispatched, settled }
}

async function readIfThere(path: string): Promise<Uint8Array> {
  return readFile(path).catch(() => new Uint8Array(0))
}

interface FoundLog {
  readonly log: string
  readonly instanceId: string
  /** Paths, in the order in which they were written. */
  readonly files: readonly string[]
  /** Undefined: not in the checkpoint. */
  readonly state: LogState | undefined
}

async function findLogDamage({ log, instanceId, files, state }: FoundLog): Promise<readonly string[]> {
  if (state === undefined) return [`the checkpoint does not say what ${log} has`]
  const numbers = new Map(files.map((path) => [Number(/-(\d+)\.log$/.exec(path)?.[1]), path]))
  const newest = state.segments.at(-1)
  const problems: string[] = []
  for (const number of state.segments) if (!numbers.has(number)) problems.push(`${log}: segment ${number} is missing`)
  for (const [number, path] of numbers) {
    const name = basename(path)
    const count = number === newest ? state.seal.count : -1
    const { seal, atCheckpoint, end, damaged } = readSegment(await readFile(path), chainStart(instanceId, name), count)
    if (damaged > 0) problems.push(`${name}: ${damaged} damaged lines`)
    if (end !== undefined && !isSameSeal(seal, end)) problems.push(`${name}: not the ${end.count} lines of its seal`)
    if (number === newest && !isSameSeal(atCheckpoint, state.seal))
      problems.push(`${name}: not the ${state.seal.count} lines of the checkpoint`)
    else if (number !== newest && end === undefined && state.segments.includes(number))
      problems.push(`${name}: its end is missing`)
  }
  return problems
}

/** @returns undefined for invalid text. */
function parseCheckpoint(content: Uint8Array): Checkpoint | undefined {
  const [line] = splitLines(content)
  const text = line === undefined ? undefined : readLine(line)
  const checkpoint = text === undefined ? undefined : parseJson(text)
  return isRecord(checkpoint) ? (checkpoint as Checkpoint) : undefined // its checksum is valid, so it was written as one
}

/** Seals of a segment's file: computed over its lines, and as stated in its last line. */
interface SegmentContent {
  /** Of all lines. */
  readonly seal: Seal
  /** After the number of lines in the checkpoint; undefined: it has fewer. */
  readonly atCheckpoint: Seal | undefined
  /** As stated in its last line; undefined: not sealed. */
  readonly end: Seal | undefined
  /** Number of damaged lines. */
  readonly damaged: number
}

function readSegment(content: Uint8Array, start: number, checkpointCount: number): SegmentContent {
  let seal: Seal = { count: 0, chain: start }
  let atCheckpoint = checkpointCount === 0 ? seal : undefined
  let end: Seal | undefined
  let damaged = 0
  for (const line of splitLines(content)) {
    const text = readLine(line)
    if (text === undefined) damaged += 1
    end = text === undefined ? undefined : parseSeal(text)
    if (end !== undefined) continue
    const sum = Number.parseInt(Buffer.from(line.subarray(0, 8)).toString('latin1'), 16) >>> 0
    seal = { count: seal.count + 1, chain: chainNext(seal.chain, sum) }
    if (seal.count === checkpointCount) atCheckpoint = seal
  }
  return { seal, atCheckpoint, end, damaged }
}

function parseSeal(text: string): Seal | undefined {
  if (!text.startsWith('["E",')) return undefined
  const [, count, chain] = parseJson(text) as readonly unknown[] // its checksum is valid, so it was written as one
  return { count: Number(count), chain: Number(chain) }
}

function isSameSeal(one: Seal | undefined, other: Seal | undefined): boolean {
  return one !== undefined && one.count === other?.count && one.chain === other.chain
}

const REPORT_FILE = 'report.json'
const DAMAGED_NAME = /\.damaged(?:\.\d+)?$/

export interface DamageReport {
  readonly instance: string
  readonly found_at: string
  readonly problems: readonly string[]
  /** Completions without a record of their end. */
  readonly undecided: readonly { readonly account: AccountId; readonly completion: CompletionId }[]
}

/** @returns The path at which it is kept. */
export async function quarantineSpool(dataDirectory: string, directory: string, report: DamageReport): Promise<string> {
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
  /** Undefined: only lines were kept, which were unreadable or which the ledger rejected. */
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
