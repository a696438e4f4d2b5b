/**
 * The spool of this process: what the next process must know if this one dies. A request is recorded before it is sent to a
 * provider, its settlement before the last byte of the answer, each with one `write(2)` and without waiting; records are
 * deleted once the database has committed them. While the database is unavailable, settlements are also synced to disk, in
 * the background.
 *
 * It does not access the database, and makes no decisions about money.
 */
import { rm } from 'node:fs/promises'
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
import { dispatchedText, releasedText, unitText } from './records.ts'
import { createReserve, createSpoolWriter, type SpoolEntry, type SpoolWriter, type SpoolWriterLog } from './writer.ts'

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
