/**
 * An append-only log in segments of limited size. A segment is deleted when all of its entries are resolved, in any order:
 * a long-lived entry keeps its own segment only. An append is one `write(2)`, which survives a crash of the process; after
 * `sync` it survives a crash of the machine.
 */
import { close, closeSync, fdatasync, openSync, rm, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import { createLineWriter, type LineWriter } from './records.ts'

export interface SpoolLogOptions {
  readonly directory: string
  /** Prefix of file names. */
  readonly name: string
  /** A segment of this size is followed by a new one. */
  readonly segmentBytes: number
  /** Whether `sync` is called. If not, full segments are closed at once. */
  readonly synced: boolean
  /** Creates the directory; called before a file is created. Throws on failure. */
  readonly prepare: () => void
  readonly onError: (error: unknown) => void
  /** Owner of the log; undefined in tests. */
  readonly instanceId?: string
  /** Called after an append. */
  readonly onAppend?: () => void
  /** Called before a segment is deleted; `state` no longer contains it. */
  readonly onRemove?: () => void
  readonly write?: WriteBytes | undefined
}

export interface SpoolLog {
  /** Throws if it cannot be written; then nothing was appended. */
  append(text: string): Segment
  /** Appends an entry that is needed only as long as the entry at `before`. Throws like `append`. */
  appendAfter(text: string, before: Segment): void
  /** Resolves one entry there: it is no longer needed. */
  resolve(segment: Segment): void
  /** Resolves when all previous appends are on disk. */
  sync(): Promise<void>
  /** Number of unresolved entries. */
  open(): number
  /** Size of all segments. */
  bytes(): number
  state(): LogState
  /** Keeps the files. */
  close(): Promise<void>
}

export function createSpoolLog(options: SpoolLogOptions): SpoolLog {
  const files = createFiles(options)
  const syncer = createSyncer(files.list, options.directory)
  let open = 0
  return {
    append(text) {
      const segment = files.add(text)
      open += 1
      return segment
    },
    appendAfter(text, before) {
      const segment = files.add(text)
      if (segment === before || before.removed) return files.lower(segment)
      before.dependents ??= []
      before.dependents.push(segment)
    },
    resolve(segment) {
      open -= 1
      files.lower(segment)
    },
    sync: syncer.sync,
    open: () => open,
    bytes: files.bytes,
    state: files.state,
    async close() {
      await syncer.idle()
      for (const segment of files.list) closeIfIdle(segment)
    },
  }
}

function createFiles(options: SpoolLogOptions) {
  const { directory, name, segmentBytes, write = writeAt, instanceId = '', onAppend } = options
  const lines = createLineWriter()
  const list: Segment[] = []
  let current: Segment | undefined
  let made = 0
  let bytes = 0
  const remove = (segment: Segment) => {
    segment.removed = true
    bytes -= segment.bytes
    list.splice(list.indexOf(segment), 1)
    closeIfIdle(segment)
    options.onRemove?.()
    rm(segment.path, { force: true }, (error) => error !== null && options.onError(error))
    for (const dependent of segment.dependents ?? []) lower(dependent)
  }
  const lower = (segment: Segment) => {
    segment.open -= 1
    if (segment.open === 0 && segment.full) remove(segment)
  }
  const finish = (segment: Segment) => {
    if (segment.open > 0) bytes += writeEnd(segment, { lines, write, onError: options.onError })
    segment.full = true
    if (!options.synced) closeIfIdle(segment)
    if (segment.open === 0) remove(segment)
  }
  const next = () => {
    options.prepare()
    const segment = createSegment(made + 1, { directory, name, instanceId })
    made += 1
    list.push(segment)
    const before = current
    current = segment
    if (before !== undefined) finish(before)
    return segment
  }
  const add = (text: string) => {
    const segment = current === undefined || current.bytes >= segmentBytes ? next() : current
    bytes += writeLine(segment, { lines, write, text })
    segment.open += 1
    onAppend?.()
    return segment
  }
  return { list, add, lower, state: () => stateOf(list, current), bytes: () => bytes }
}

function stateOf(list: readonly Segment[], current: Segment | undefined): LogState {
  const seal = { count: current?.count ?? 0, chain: current?.chain ?? 0 }
  return { segments: list.map(({ number }) => number), seal }
}

interface Numbered {
  readonly directory: string
  readonly name: string
  readonly instanceId: string
}

function createSegment(number: number, { directory, name, instanceId }: Numbered): Segment {
  const file = `${name}-${String(number).padStart(8, '0')}.log`
  return openSegment(join(directory, file), number, chainStart(instanceId, file))
}

/** Writes the final line of a full segment, without which it counts as damaged. @returns The line's bytes. */
function writeEnd(
  segment: Segment,
  { lines, write, onError }: { lines: LineWriter; write: WriteBytes; onError: (error: unknown) => void },
): number {
  try {
    return writeLine(segment, { lines, write, text: sealText(segment) })
  } catch (error) {
    onError(error)
    return 0
  }
}

export interface Segment {
  readonly path: string
  readonly number: number
  /** Count of lines, and the checksum chained over them. */
  count: number
  chain: number
  /** Undefined: full and synced. */
  fd: number | undefined
  bytes: number
  /** Number of unresolved entries. */
  open: number
  /** Whether it has appends since the last sync. */
  dirty: boolean
  /** A newer segment exists. */
  full: boolean
  syncing: boolean
  removed: boolean
  /** Segments with entries that must not be deleted before this one; usually none. */
  dependents: Segment[] | undefined
}

/** Like `fs.writeSync`. */
export type WriteBytes = (fd: number, bytes: Uint8Array, range: ByteRange) => number

export interface ByteRange {
  readonly offset: number
  readonly length: number
  /** Offset in the file. */
  readonly position: number
}

/** Throws if the file exists. @param chain See `chainStart`. */
function openSegment(path: string, number: number, chain: number): Segment {
  return {
    path,
    number,
    count: 0,
    chain,
    fd: openSync(path, 'wx', 0o600),
    bytes: 0,
    open: 0,
    dirty: false,
    full: false,
    syncing: false,
    removed: false,
    dependents: undefined,
  }
}

/**
 * Throws if the whole line cannot be written. The next line overwrites what was written of it.
 * @returns The line's bytes.
 */
function writeLine(
  segment: Segment,
  { lines, write, text }: { readonly lines: LineWriter; readonly write: WriteBytes; readonly text: string },
): number {
  if (segment.fd === undefined) throw new Error('The spool is closed.')
  const length = lines.encode(text)
  const bytes = lines.bytes()
  for (let offset = 0; offset < length; ) {
    const written = write(segment.fd, bytes, { offset, length: length - offset, position: segment.bytes + offset })
    if (written === 0) throw new Error('Nothing was written to the spool.')
    offset += written
  }
  segment.bytes += length
  segment.count += 1
  segment.chain = chainNext(segment.chain, lines.sum())
  segment.dirty = true
  return length
}

export function writeAt(fd: number, bytes: Uint8Array, { offset, length, position }: ByteRange): number {
  return writeSync(fd, bytes, offset, length, position)
}

function closeIfIdle(segment: Segment): void {
  const { fd, syncing } = segment
  if (fd === undefined || syncing) return
  segment.fd = undefined
  close(fd, () => undefined) // the descriptor is closed even on an error
}

const syncFile = promisify(fdatasync)

interface Syncer {
  /** Resolves when all previous writes are on disk. */
  sync(): Promise<void>
  /** Resolves when no sync is running. */
  idle(): Promise<void>
}

/** @param segments Current segments, oldest first. */
function createSyncer(segments: readonly Segment[], directory: string): Syncer {
  let running: Promise<void> | undefined
  let queued: Promise<void> | undefined
  let newestKnown: string | undefined
  const run = async () => {
    for (const segment of segments.filter(({ dirty }) => dirty)) await syncSegment(segment)
    const newest = segments.at(-1)?.path
    if (newest === newestKnown) return
    await syncDirectory(directory)
    newestKnown = newest
  }
  const start = (): Promise<void> => {
    running = run().finally(() => {
      running = undefined
    })
    return running
  }
  const startQueued = () => {
    queued = undefined
    return running ?? start()
  }
  return {
    sync() {
      if (running === undefined) return start()
      queued ??= running.then(startQueued, startQueued)
      return queued
    },
    async idle() {
      while (running !== undefined) await running.catch(() => undefined)
    },
  }
}

async function syncSegment(segment: Segment): Promise<void> {
  if (segment.fd === undefined || segment.removed) return
  segment.syncing = true
  segment.dirty = false
  try {
    await syncFile(segment.fd)
  } catch (error) {
    segment.dirty = true
    throw error
  } finally {
    segment.syncing = false
    if (segment.removed || (segment.full && !segment.dirty)) closeIfIdle(segment)
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/*
 * Seals: they state what a log must contain, so that a truncated, zeroed, deleted or swapped log is not mistaken for a
 * shorter one. A seal is the count of a segment's lines and a checksum chained over them, starting with the segment's name.
 * It is in the last line of a full segment, and in the checkpoint for the current one. A line costs one multiplication; the
 * checkpoint is written at most every 5 ms, so a log of a killed process may contain more than its checkpoint, never less.
 */

const MIX = 0x9e3779b1
const CHECKPOINT_AFTER_MS = 5

export interface Seal {
  readonly count: number
  readonly chain: number
}

/** @param name File name of the segment. */
export function chainStart(instanceId: string, name: string): number {
  return crc32(`${instanceId}/${name}`)
}

/** @param sum Checksum of the line. The order of lines matters. */
export function chainNext(chain: number, sum: number): number {
  return (Math.imul(chain ^ sum, MIX) + sum) >>> 0
}

/** The last line of a full segment. */
function sealText({ count, chain }: Seal): string {
  return `["E",${count},${chain}]`
}

/** State of a log at a checkpoint. */
export interface LogState {
  /** Numbers of existing segments, ascending; the last one is current. */
  readonly segments: readonly number[]
  /** Of the last segment. */
  readonly seal: Seal
}

export type Checkpoint = Readonly<Record<string, LogState>>

export interface CheckpointFile {
  /** Schedules a checkpoint within 5 ms, unless one is scheduled. */
  soon(): void
  now(): void
  close(): void
}

/** @param state Returns what to write; called for each checkpoint. */
export function createCheckpointFile(
  path: string,
  state: () => Checkpoint,
  onError: (error: unknown) => void,
): CheckpointFile {
  const lines = createLineWriter()
  const fd = openSync(path, 'w', 0o600)
  let due: NodeJS.Timeout | undefined
  let closed = false
  const now = () => {
    if (closed) return
    try {
      const length = lines.encode(JSON.stringify(state()))
      writeSync(fd, lines.bytes(), 0, length, 0) // the rest of a longer checkpoint follows the end of the line
    } catch (error) {
      onError(error)
    }
  }
  const write = () => {
    due = undefined
    now()
  }
  now()
  return {
    soon() {
      due ??= setTimeout(write, CHECKPOINT_AFTER_MS).unref()
    },
    now,
    close() {
      if (closed) return
      clearTimeout(due)
      now()
      closed = true
      closeSync(fd)
    },
  }
}
