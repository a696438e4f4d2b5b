/**
 * An append-only log in files of limited size. A file is deleted when all that was appended to it is resolved, whatever
 * the order: what lives long keeps its own file and no other. Appending is one `write(2)`, which outlives the process;
 * `sync` makes it outlive the machine.
 */
import { rm } from 'node:fs'
import { join } from 'node:path'
import { createLineWriter } from '../../lib/checked-line.ts'
import { closeIfIdle, openSegment, type Segment, type WriteBytes, writeAt, writeLine } from './spool-segment.ts'
import { createSyncer } from './spool-sync.ts'

export interface SpoolLogOptions {
  readonly directory: string
  /** What file names start with. */
  readonly name: string
  /** A file that has grown to this size is followed by the next. */
  readonly segmentBytes: number
  /** Whether it is ever synced. If not, full files need not stay open for it. */
  readonly synced: boolean
  /** Makes the directory; called before a file is made. Throws when it cannot. */
  readonly prepare: () => void
  readonly onError: (error: unknown) => void
  readonly write?: WriteBytes | undefined
}

export interface SpoolLog {
  /** Throws when it cannot be written: then nothing was appended. */
  append(text: string): Segment
  /** Appends what is of use only as long as something in `before` is. Throws like `append`. */
  appendAfter(text: string, before: Segment): void
  /** One thing that was appended there is of no use any more. */
  resolve(segment: Segment): void
  /** Resolves when everything appended before is on the disk. */
  sync(): Promise<void>
  /** What was appended and is not resolved. */
  open(): number
  /** Of all files. */
  bytes(): number
  /** Leaves the files. */
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
    async close() {
      await syncer.idle()
      for (const segment of files.list) closeIfIdle(segment)
    },
  }
}

function createFiles(options: SpoolLogOptions) {
  const { directory, name, segmentBytes, write = writeAt } = options
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
    rm(segment.path, { force: true }, (error) => error !== null && options.onError(error))
    for (const dependent of segment.dependents ?? []) lower(dependent)
  }
  const lower = (segment: Segment) => {
    segment.open -= 1
    if (segment.open === 0 && segment.full) remove(segment)
  }
  const leave = (segment: Segment) => {
    segment.full = true
    if (!options.synced) closeIfIdle(segment)
    if (segment.open === 0) remove(segment)
  }
  const next = () => {
    options.prepare()
    const segment = openSegment(join(directory, `${name}-${String(made + 1).padStart(8, '0')}.log`))
    made += 1
    list.push(segment)
    if (current !== undefined) leave(current)
    current = segment
    return segment
  }
  const add = (text: string) => {
    const segment = current === undefined || current.bytes >= segmentBytes ? next() : current
    bytes += writeLine(segment, { lines, write, text })
    segment.open += 1
    return segment
  }
  return { list, add, lower, bytes: () => bytes }
}
