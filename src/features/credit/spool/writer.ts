/**
 * Writes to a disk that may be full or broken: what cannot be written waits in memory until it can, and meanwhile no request
 * may be admitted.
 */

import { renameSync, rmSync } from 'node:fs'
import { rename, rm, stat, writeFile } from 'node:fs/promises'
import type { CompletionId } from '../../../domain/ids.ts'
import type { Segment, SpoolLog } from './log.ts'
import { parseRecord, releasedText } from './records.ts'

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
export type SpoolEntry = Segment | UnwrittenLine

export interface SpoolWriterLog {
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

export interface SpoolWriter {
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

export function createSpoolWriter(input: SpoolWriterInput): SpoolWriter {
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
export function createReserve(path: string, instanceId: string): SpoolReserve {
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
