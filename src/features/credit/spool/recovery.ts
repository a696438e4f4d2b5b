/**
 * Recovers the spools of dead processes into the database: applies their settlements exactly, and releases the holds of
 * requests that were never sent to a provider. The sweep ends requests that were sent and not settled.
 *
 * Recovery is idempotent: the ledger applies each settlement and each release once.
 */
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import type { AccountId, CompletionId } from '../../../domain/ids.ts'
import { isGone } from '../../../jobs/instance-lease.ts'
import type { Outcome, ReleaseUnit, SettleUnit, Unit } from '../ledger/unit.ts'
import {
  COMPLETE_FILE,
  currentProcess,
  type OwnerState,
  readOwner,
  type SpoolOwner,
  spoolRoot,
  stateOf,
} from './directory.ts'
import { findDamage, listSpool, quarantineLines, quarantineSpool, readRecords, type SpoolContent } from './reader.ts'
import { SPOOL_VERSION } from './records.ts'

/** A spool is named after its instance, and while it is being read also after its reader. */
const SPOOL_NAME = /^(ins_[0-9A-Za-z]+)(?:\.by\.(ins_[0-9A-Za-z]+))?$/

export interface RecoveryInput {
  readonly dataDirectory: string
  /** This process, whose own spool is open. */
  readonly instanceId: string
  readonly db: Kysely<Database>
  readonly committer: { submit(unit: Unit): Promise<Outcome> }
  /** See `InstanceLease.steady`: false at the start, when a process that was not seen may still run. */
  readonly steady: () => boolean
  readonly log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
  /** Default: this process. */
  readonly own?: SpoolOwner
}

interface FoundSpool {
  readonly name: string
  readonly directory: string
  readonly instanceId: string
  /** The process that reads it now, or died while reading it. */
  readonly reader: string | undefined
}

/** Never rejects: what cannot be recovered now is retried next time. */
export async function recoverSpools(input: RecoveryInput): Promise<void> {
  for (const found of await findSpools(input)) {
    try {
      await recoverSpool(input, found)
    } catch (error) {
      if (isMissing(error)) continue // another process was faster
      input.log.warn({ spool: found.name, error: String(error) }, 'a spool could not be recovered yet')
    }
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

async function findSpools({ dataDirectory, instanceId: own }: RecoveryInput): Promise<FoundSpool[]> {
  const root = spoolRoot(dataDirectory)
  const names = await readdir(root).catch(() => [])
  return names.flatMap((name) => {
    const [, instanceId, reader] = SPOOL_NAME.exec(name) ?? []
    return instanceId === undefined || instanceId === own
      ? []
      : [{ name, directory: join(root, name), instanceId, reader }]
  })
}

async function recoverSpool(input: RecoveryInput, found: FoundSpool): Promise<void> {
  const { db, instanceId, steady } = input
  const { owner } = await listSpool(found.directory)
  if (owner !== undefined && owner.version > SPOOL_VERSION) {
    return input.log.error({ spool: found.name }, 'a spool was made by a newer release; start that one to recover it')
  }
  const state = await holderState(input, found, owner)
  if (state === 'alive') return
  const holder = found.reader ?? found.instanceId
  if (state === 'dead' || (steady() && (await isGone(db, holder, instanceId)))) {
    await recoverClaimed(input, found)
  } else if (!steady()) {
    await replayWithoutClaim(input, found)
  }
}

/** State of the process that owns the files now. A reader without a spool of its own has ended. */
async function holderState(
  { dataDirectory, instanceId, own = currentProcess() }: RecoveryInput,
  { reader }: FoundSpool,
  owner: SpoolOwner | undefined,
): Promise<OwnerState> {
  if (reader === undefined) return owner === undefined ? 'unknown' : stateOf(owner, own)
  if (reader === instanceId) return 'dead'
  const other = await readOwner(join(spoolRoot(dataDirectory), reader))
  return other === undefined ? 'dead' : stateOf(other, own)
}

/** Only one process reads a spool, since it deletes what it has read. @returns undefined if another was faster. */
async function claim({ dataDirectory, instanceId }: RecoveryInput, found: FoundSpool): Promise<string | undefined> {
  const directory = join(spoolRoot(dataDirectory), `${found.instanceId}.by.${instanceId}`)
  if (directory === found.directory) return directory
  try {
    await rename(found.directory, directory)
    return directory
  } catch {
    return undefined
  }
}

/** Reads the spool of a process that may still run: its records are valid in both cases. Keeps its files. */
async function replayWithoutClaim({ committer }: RecoveryInput, { directory }: FoundSpool): Promise<void> {
  const { moneyFiles } = await listSpool(directory)
  await replaySettlements(moneyFiles, createRecoverySink(committer.submit))
}

/** Spools that this process reads at the moment: the start and a sweep may coincide. */
const inProgress = new Set<string>()

async function recoverClaimed(input: RecoveryInput, found: FoundSpool): Promise<void> {
  const directory = await claim(input, found)
  if (directory === undefined || inProgress.has(directory)) return
  inProgress.add(directory)
  try {
    const isWhole = await recoverDirectory(input, found, directory)
    if (!isWhole) return
    // First: if the deletion is interrupted, the rest must not count as complete.
    await rm(join(directory, COMPLETE_FILE), { force: true })
    await rm(directory, { recursive: true, force: true })
  } finally {
    inProgress.delete(directory)
  }
}

/** @returns false if it was damaged and kept. */
async function recoverDirectory(input: RecoveryInput, found: FoundSpool, directory: string): Promise<boolean> {
  const { db, committer, dataDirectory, log, own = currentProcess() } = input
  const content = await listSpool(directory)
  const damage = await findDamage(directory, content, found.instanceId)
  const sink = createRecoverySink(committer.submit)
  // A file of a damaged log may belong to another log: all of them are read for settlements.
  const problems = [...new Set([...damage.dispatched, ...damage.settled])]
  const moneyFiles = problems.length === 0 ? content.moneyFiles : [...content.moneyFiles, ...content.dispatchFiles]
  const intents = await replaySettlements(moneyFiles, sink)
  const holds = await openHolds(db, found.instanceId)
  const dispatches = await readDispatches(content, { sink, isRelevant: (id) => holds.has(id) || intents.has(id) })
  const isDead = content.owner !== undefined && stateOf(content.owner, own) === 'dead'
  const wasNotDispatched = (id: CompletionId) =>
    isDead && damage.dispatched.length === 0 && dispatches.complete && !dispatches.dispatched.has(id)
  for (const [id, accountId] of holds) {
    if (wasNotDispatched(id) || dispatches.released.has(id)) await sink.add({ kind: 'release', accountId, id })
  }
  for (const [id, unit] of intents) {
    if (!wasNotDispatched(id) && !dispatches.released.has(id)) await sink.add(unit)
  }
  await sink.flush()
  if (problems.length > 0) await quarantineDirectory(input, { found, directory, problems })
  else
    await quarantineUnusable(input, {
      recovered: sink.recovered,
      path: join(spoolRoot(dataDirectory), `${found.instanceId}.damaged`),
    })
  const { unusable, ...counts } = sink.recovered
  log.info(
    { instance: found.instanceId, ...counts, unusable: unusable.length },
    'recovered what a dead process had left',
  )
  return problems.length === 0
}

/**
 * An incomplete spool does not show that a request was not sent: holds that no line decides are left to the sweep, which
 * charges their estimates. The files are kept with a report of the damage; `turnpike ledger recovery` lists them.
 */
async function quarantineDirectory(
  input: RecoveryInput,
  {
    found,
    directory,
    problems,
  }: { readonly found: FoundSpool; readonly directory: string; readonly problems: readonly string[] },
): Promise<void> {
  const { db, dataDirectory, log } = input
  const undecided = await openHolds(db, found.instanceId)
  const kept = await quarantineSpool(dataDirectory, directory, {
    instance: found.instanceId,
    found_at: new Date().toISOString(),
    problems,
    undecided: [...undecided].map(([completion, account]) => ({ account, completion })),
  })
  log.error(
    { instance: found.instanceId, problems, undecided: undecided.size, kept },
    'a spool is damaged: what it does not decide is charged at its estimate',
  )
}

async function quarantineUnusable(
  { log }: RecoveryInput,
  { recovered, path }: { readonly recovered: Recovered; readonly path: string },
): Promise<void> {
  if (recovered.unusable.length === 0) return
  await quarantineLines(path, recovered.unusable)
  log.error({ lines: recovered.unusable.length, path }, 'lines of a spool could not be used and were kept aside')
}

/** @returns Requests that were admitted without the database and have no settlement. */
async function replaySettlements(
  files: readonly string[],
  sink: RecoverySink,
): Promise<ReadonlyMap<CompletionId, SettleUnit>> {
  const intents = new Map<CompletionId, SettleUnit>()
  for await (const { record, line } of readRecords(files)) {
    if (record === undefined) sink.recovered.unusable.push(line)
    else if (record.kind === 'intent') intents.set(record.unit.record.id, record.unit)
    else if (record.kind === 'settled') {
      intents.delete(record.unit.record.id)
      await sink.add(record.unit, line)
    } else if (record.kind === 'released') intents.delete(record.id)
  }
  await sink.flush()
  return intents
}

interface Dispatches {
  /** Whether the logs are complete. */
  readonly complete: boolean
  readonly dispatched: ReadonlySet<CompletionId>
  readonly released: ReadonlySet<CompletionId>
}

async function readDispatches(
  { complete, dispatchFiles }: SpoolContent,
  { sink, isRelevant }: { readonly sink: RecoverySink; readonly isRelevant: (id: CompletionId) => boolean },
): Promise<Dispatches> {
  const dispatched = new Set<CompletionId>()
  const released = new Set<CompletionId>()
  let isWhole = true
  for await (const { record, line } of readRecords(dispatchFiles)) {
    if (record?.kind === 'dispatched') {
      if (isRelevant(record.id)) dispatched.add(record.id)
    } else if (record?.kind === 'released') {
      if (isRelevant(record.id)) released.add(record.id)
    } else if (record?.kind !== 'end') {
      isWhole = false
      sink.recovered.unusable.push(line)
    }
  }
  return { complete: complete && isWhole, dispatched, released }
}

async function openHolds(db: Kysely<Database>, instanceId: string): Promise<ReadonlyMap<CompletionId, AccountId>> {
  const rows = await db.selectFrom('hold').select(['account_id', 'id']).where('instance_id', '=', instanceId).execute()
  return new Map(rows.map(({ account_id, id }) => [id, account_id]))
}

const BATCH_SIZE = 500
const BATCH_BYTES = 8 * 1024 * 1024
const NO_LINE = new Uint8Array(0)

interface Recovered {
  /** Settlements that were missing in the database, exact or estimated. */
  settled: number
  /** Settlements and releases that the database already had. */
  already: number
  released: number
  /** Lines that were unreadable, or that the ledger rejected. */
  readonly unusable: Uint8Array[]
}

interface RecoverySink {
  readonly recovered: Recovered
  /** Rejects if the database is unavailable. @param line Kept if the ledger rejects the unit. */
  add(unit: SettleUnit | ReleaseUnit, line?: Uint8Array): Promise<void>
  flush(): Promise<void>
}

interface Item {
  readonly unit: SettleUnit | ReleaseUnit
  readonly line: Uint8Array
}

function createRecoverySink(submit: (unit: Unit) => Promise<Outcome>): RecoverySink {
  const recovered: Recovered = { settled: 0, already: 0, released: 0, unusable: [] }
  let items: Item[] = []
  let bytes = 0
  const flush = async () => {
    const batch = items
    items = []
    bytes = 0
    const outcomes = await Promise.all(batch.map(({ unit }) => submit(unit)))
    for (const [index, item] of batch.entries()) count(recovered, item, outcomes[index])
  }
  return {
    recovered,
    async add(unit, line = NO_LINE) {
      items.push({ unit, line })
      bytes += line.length
      if (items.length >= BATCH_SIZE || bytes >= BATCH_BYTES) await flush()
    },
    flush,
  }
}

function count(recovered: Recovered, { unit, line }: Item, outcome: Outcome | undefined): void {
  if (outcome?.kind === 'done' || outcome?.kind === 'corrected')
    recovered[unit.kind === 'settle' ? 'settled' : 'released'] += 1
  else if (outcome?.kind === 'failed') recovered.unusable.push(line)
  else recovered.already += 1
}
