/**
 * The spool of this process: what the next process must know if this one dies. A request is recorded before it is sent to a
 * provider, its settlement before the last byte of the answer, each with one `write(2)` and without waiting; records are
 * deleted once the database has committed them. While the database is unavailable, settlements are also synced to disk, in
 * the background.
 *
 * It does not access the database, and makes no decisions about money.
 */

import { renameSync, rmSync } from 'node:fs'
import { rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CompletionId } from '../../../domain/ids.ts'
import { reach } from '../../../lib/crash-point.ts'
import type { SettleUnit } from '../ledger/unit.ts'
import {
  CHECKPOINT_FILE,
  currentProcess,
  DISPATCH_LOG,
  MONEY_LOG,
  markIncomplete,
  prepareDirectory,
  RESERVE_FILE,
  spoolRoot,
} from './directory.ts'
import {
  type CheckpointFile,
  createCheckpointFile,
  createSpoolLog,
  type Segment,
  type SpoolLog,
  type WriteBytes,
} from './log.ts'
import { dispatchedText, parseRecord, releasedText, unitText } from './records.ts'

/** Maximum size of the spool on disk; beyond it no request is admitted. */
const MAX_SPOOL_BYTES = 256 * 1024 * 1024
/** Maximum number of settlements that wait for the database; beyond it no request is admitted. */
const MAX_SPOOLED_SETTLEMENTS = 100_000
/** Space reserved for the settlement of each running request. */
const SETTLEMENT_BYTES = 1024
/** Small, since a stream that runs for an hour keeps the segment with its record. */
const DISPATCH_SEGMENT_BYTES = 256 * 1024
const MONEY_SEGMENT_BYTES = 1024 * 1024

export interface SpoolOptions {
  readonly dataDirectory: string
  readonly instanceId: string
  readonly log: SpoolWriterLog
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly write?: WriteBytes | undefined
  readonly maxBytes?: number
  readonly maxSettlements?: number
}

/** Location of a hold's records, stored in the hold. */
export interface SpooledHold {
  readonly id: CompletionId
  dispatchedAt: Segment | undefined
  intentAt: Segment | undefined
}

export interface Spool {
  /** Whether one more request may be admitted. @param running Requests that are admitted and not settled. */
  room(running: number): boolean
  dispatched(hold: SpooledHold): void
  released(hold: SpooledHold): void
  /** Resolves when the intent is on disk; rejects if it cannot be written. */
  intent(hold: SpooledHold, unit: SettleUnit): Promise<void>
  /** When it returns, the settlement survives a crash of this process. */
  settled(unit: SettleUnit): SpoolEntry
  /** Deletes the hold's records when `committed` resolves. Equal promises share one callback. */
  follow(committed: Promise<void>, settled: SpoolEntry, hold: SpooledHold): void
  /** Syncs all settlements to disk, in the background. */
  sync(): void
  /** Called before the process ends without the database. Resolves when all settlements are on disk. */
  flush(): Promise<void>
  /** Number of settlements that are not in the database. */
  waiting(): number
  /** Of these, the number that could not be written to a file. */
  unwritten(): number
  bytes(): number
  /** Deletes the spool if the database has all of it; otherwise the next start reads it. */
  close(): Promise<void>
}

interface Parts {
  readonly directory: string
  readonly dispatches: SpoolLog
  readonly money: SpoolLog
  readonly checkpoint: CheckpointFile
  readonly writer: SpoolWriter
}

/** Throws if its directory cannot be created. */
export function openSpool(options: SpoolOptions): Spool {
  const { maxBytes = MAX_SPOOL_BYTES, maxSettlements = MAX_SPOOLED_SETTLEMENTS } = options
  const parts = openParts(options)
  const { directory, dispatches, money, checkpoint, writer } = parts
  const bytes = () => dispatches.bytes() + money.bytes()
  const waiting = () => money.open() + writer.unwritten()
  return {
    room: (running) =>
      !writer.failing() && waiting() + running < maxSettlements && bytes() + running * SETTLEMENT_BYTES < maxBytes,
    dispatched(hold) {
      if (hold.dispatchedAt !== undefined) return
      hold.dispatchedAt = writer.dispatch(dispatchedText(hold.id))
      if (hold.dispatchedAt === undefined) markIncomplete(directory, writer.report)
    },
    released(hold) {
      endWithoutCharge(parts, hold)
    },
    async intent(hold, unit) {
      hold.intentAt = money.append(unitText('intent', unit))
      await money.sync()
    },
    settled: (unit) => writer.keep(unitText('settled', unit)),
    follow: createChangeFollower(parts),
    sync: () => void money.sync().catch(writer.report),
    flush() {
      writer.drain()
      return money.sync()
    },
    waiting,
    unwritten: writer.unwritten,
    bytes,
    async close() {
      await writer.close()
      const isDone = waiting() === 0 && dispatches.open() === 0
      if (!isDone) await money.sync().catch(writer.report)
      await Promise.all([dispatches.close(), money.close()])
      checkpoint.close()
      if (isDone) await rm(directory, { recursive: true, force: true })
    },
  }
}

function openParts(options: SpoolOptions): Parts {
  const { dataDirectory, instanceId, log, clock, write } = options
  const root = spoolRoot(dataDirectory)
  const directory = join(root, instanceId)
  const owner = { ...currentProcess(), checkpoint: true }
  prepareDirectory(directory, owner, true)
  const shared = {
    directory,
    prepare: () => prepareDirectory(directory, owner, false),
    onError: (error: unknown) => log.error({ error: String(error) }, 'a file of the spool could not be deleted'),
    write,
    instanceId,
    onAppend: () => checkpoint.soon(),
    onRemove: () => checkpoint.now(),
  }
  const dispatches = createSpoolLog({
    ...shared,
    name: DISPATCH_LOG,
    segmentBytes: DISPATCH_SEGMENT_BYTES,
    synced: false,
  })
  const money = createSpoolLog({ ...shared, name: MONEY_LOG, segmentBytes: MONEY_SEGMENT_BYTES, synced: true })
  const onLost = (error: unknown) => log.error({ error: String(error) }, 'the checkpoint of the spool was not written')
  const state = () => ({ [DISPATCH_LOG]: dispatches.state(), [MONEY_LOG]: money.state() })
  const checkpoint = createCheckpointFile(join(directory, CHECKPOINT_FILE), state, onLost)
  const reserve = createReserve(join(root, RESERVE_FILE), instanceId)
  return {
    directory,
    dispatches,
    money,
    checkpoint,
    writer: createSpoolWriter({ dispatches, money, reserve, log, clock }),
  }
}

/**
 * A release is kept as long as the record that it reverses. If it cannot be written, it is lost: the sweep then charges the
 * estimate if this process dies before the database has the release.
 */
function endWithoutCharge({ dispatches, money, writer }: Parts, { id, dispatchedAt, intentAt }: SpooledHold): void {
  const end = (log: SpoolLog, before: Segment) => {
    try {
      log.appendAfter(releasedText(id), before)
    } catch (error) {
      writer.report(error)
    }
    log.resolve(before)
  }
  if (dispatchedAt !== undefined) end(dispatches, dispatchedAt)
  if (intentAt !== undefined) end(money, intentAt)
}

/** Records that one promise of the committer covers. */
interface Group {
  readonly settled: SpoolEntry[]
  readonly dispatched: Segment[]
  readonly intents: Segment[]
  committed: boolean
}

function createChangeFollower({ dispatches, money, writer }: Parts): Spool['follow'] {
  let last: Promise<void> | undefined
  let group: Group = newGroup()
  const onCommitted = (committed: Group) => {
    reach('after_settle')
    committed.committed = true
    for (const entry of committed.settled) writer.resolve(entry)
    for (const segment of committed.dispatched) dispatches.resolve(segment)
    for (const segment of committed.intents) money.resolve(segment)
  }
  return (committed, settled, { dispatchedAt, intentAt }) => {
    if (committed !== last || group.committed) {
      const fresh = newGroup()
      last = committed
      group = fresh
      committed.then(
        () => onCommitted(fresh),
        () => undefined, // it stays in the spool
      )
    }
    group.settled.push(settled)
    if (dispatchedAt !== undefined) group.dispatched.push(dispatchedAt)
    if (intentAt !== undefined) group.intents.push(intentAt)
  }
}

function newGroup(): Group {
  return { settled: [], dispatched: [], intents: [], committed: false }
}

// Writes to a disk that may be full or broken: what cannot be written waits in memory until it can, and meanwhile no request
// may be admitted.

const RETRY_MS = 1_000
const RESTORE_MS = 60_000
const REPORT_EVERY_MS = 60_000
/** An empty record. */
const PROBE = releasedText('' as CompletionId)

/** Lines that are not written yet. */
interface UnwrittenLine {
  readonly text: string
  writtenAt: Segment | undefined
  resolved: boolean
}

/** Location of a record. */
type SpoolEntry = Segment | UnwrittenLine

interface SpoolWriterLog {
  info(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface SpoolWriterInput {
  readonly dispatches: SpoolLog
  readonly money: SpoolLog
  readonly reserve: SpoolReserve
  readonly log: SpoolWriterLog
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

interface SpoolWriter {
  /** Undefined: it could not be written. */
  dispatch(text: string): Segment | undefined
  /** Appends to the log of settlements, or to memory until that can be written. */
  keep(text: string): SpoolEntry
  /** Resolves a record of `keep`. */
  resolve(entry: SpoolEntry): void
  /** Logs at intervals that a log cannot be written. */
  report(error: unknown): void
  /** Whether a write failed recently. */
  failing(): boolean
  /** Number of records of `keep` that are only in memory. */
  unwritten(): number
  /** Tries at once to write the records that are only in memory. */
  drain(): void
  close(): Promise<void>
}

function createSpoolWriter(input: SpoolWriterInput): SpoolWriter {
  const { dispatches, money, log } = input
  const reserve = manageReserve(input.reserve)
  const backlog = createBacklog(money)
  const report = createReport(input, backlog.size)
  let timer: NodeJS.Timeout | undefined
  const append = (to: SpoolLog, text: string): Segment | undefined => {
    try {
      return appendWith(reserve.spend, to, text)
    } catch (error) {
      report(error)
      timer ??= setTimeout(retry, RETRY_MS).unref()
      return undefined
    }
  }
  const retry = () => {
    timer = undefined
    if (!backlog.drain((text) => append(money, text))) return
    const probe = append(dispatches, PROBE)
    if (probe === undefined) return
    dispatches.resolve(probe)
    log.info({}, 'the spool can be written again')
  }
  return {
    dispatch: (text) => append(dispatches, text),
    keep: (text) => append(money, text) ?? backlog.add(text),
    resolve: (entry) => ('text' in entry ? backlog.resolve(entry) : money.resolve(entry)),
    report,
    failing: () => timer !== undefined,
    unwritten: backlog.size,
    drain: () => void backlog.drain((text) => append(money, text)),
    close() {
      if (!backlog.drain((text) => append(money, text))) backlog.tell(log)
      clearTimeout(timer)
      return reserve.close()
    },
  }
}

function createBacklog(money: SpoolLog) {
  let waiting: UnwrittenLine[] = []
  let size = 0
  return {
    size: () => size,
    add(text: string): UnwrittenLine {
      const item: UnwrittenLine = { text, writtenAt: undefined, resolved: false }
      waiting.push(item)
      size += 1
      return item
    },
    resolve(item: UnwrittenLine): void {
      item.resolved = true
      if (item.writtenAt === undefined) size -= 1
      else money.resolve(item.writtenAt)
    },
    /** @returns false if some could not be written. */
    drain(append: (text: string) => Segment | undefined): boolean {
      waiting = waiting.filter(({ resolved, writtenAt }) => !resolved && writtenAt === undefined)
      for (const item of waiting) {
        item.writtenAt = append(item.text)
        if (item.writtenAt === undefined) return false
        size -= 1
      }
      waiting = []
      return true
    },
    /** Logs them as a last resort, without the answers that are kept with settlements: they belong to customers. */
    tell(log: SpoolWriterLog): void {
      for (const { text, writtenAt, resolved } of waiting) {
        const record = parseRecord(text)
        if (writtenAt !== undefined || resolved || record?.kind !== 'settled') continue
        const completion = { ...record.unit.record, costNanoUsd: String(record.unit.record.costNanoUsd) }
        log.error({ completion }, 'a settlement is neither in the database nor in the spool')
      }
    },
  }
}

/** On a full disk, deletes the reserve and appends again. */
function appendWith(spend: () => boolean, to: SpoolLog, text: string): Segment {
  try {
    return to.append(text)
  } catch (error) {
    if (!isFull(error) || !spend()) throw error
    return to.append(text)
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}

function createReport({ log, clock }: SpoolWriterInput, unwritten: () => number): (error: unknown) => void {
  let reportedAt = Number.NEGATIVE_INFINITY
  return (error) => {
    if (clock() - reportedAt < REPORT_EVERY_MS) return
    reportedAt = clock()
    log.error({ error: String(error), unwritten: unwritten() }, 'the spool cannot be written')
  }
}

/** Recreates the reserve after a delay. */
function manageReserve(reserve: SpoolReserve) {
  let timer: NodeJS.Timeout | undefined
  let restoring: Promise<void> = Promise.resolve()
  const later = () => {
    timer ??= setTimeout(restore, RESTORE_MS).unref()
  }
  const restore = () => {
    timer = undefined
    restoring = reserve.restore().then((whole) => {
      if (!whole) later()
    })
  }
  restore()
  return {
    spend() {
      later()
      return reserve.spend()
    },
    async close() {
      await restoring
      clearTimeout(timer)
    },
  }
}

const RESERVE_BYTES = 4 * 1024 * 1024

interface SpoolReserve {
  /** Deletes the reserve. @returns false if there was none. */
  spend(): boolean
  /** Recreates the reserve. @returns false if there is no space. Never rejects. */
  restore(): Promise<boolean>
}

/** Processes that share a data directory share the reserve. */
function createReserve(path: string, instanceId: string): SpoolReserve {
  const unfinished = `${path}.${instanceId}`
  return {
    spend() {
      try {
        renameSync(path, unfinished)
        rmSync(unfinished)
        return true
      } catch {
        return false
      }
    },
    async restore() {
      if (await isWhole(path)) return true
      try {
        await writeFile(unfinished, Buffer.alloc(RESERVE_BYTES), { mode: 0o600, flush: true })
        await rename(unfinished, path)
        return true
      } catch {
        await rm(unfinished, { force: true }).catch(() => undefined)
        return false
      }
    },
  }
}

async function isWhole(path: string): Promise<boolean> {
  try {
    return (await stat(path)).size === RESERVE_BYTES
  } catch {
    return false
  }
}
