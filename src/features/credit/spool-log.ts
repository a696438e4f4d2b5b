/**
 * An append-only log in files of limited size. A file is deleted when all that was appended to it is resolved, whatever
 * the order: what lives long keeps its own file and no other. Appending is one `write(2)`, which outlives the process;
 * `sync` makes it outlive the machine.
 */
import { rm } from 'node:fs'
import { join } from 'node:path'
import { createLineWriter, type LineWriter } from '../../lib/checked-line.ts'
import { chainStart, type LogState, sealText } from './spool-seal.ts'
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
  /** Whose log it is; undefined: nobody's, in tests. */
  readonly instanceId?: string
  /** Something was appended. */
  readonly onAppend?: () => void
  /** A segment is about to be deleted, and is not among those of `state` any more. */
  readonly onRemove?: () => void
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
  state(): LogState
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
  const leave = (segment: Segment) => {
    if (segment.open > 0) bytes += writeEnd(segment, { lines, write, onError: options.onError })
    segment.full = true
    if (!options.synced) closeIfIdle(segment)
    if (segment.open === 0) remove(segment)
  }
  const next = () => {
    options.prepare()
    const segment = openNumbered(made + 1, { directory, name, instanceId })
    made += 1
    list.push(segment)
    const before = current
    current = segment
    if (before !== undefined) leave(before)
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

function openNumbered(number: number, { directory, name, instanceId }: Numbered): Segment {
  const file = `${name}-${String(number).padStart(8, '0')}.log`
  return openSegment(join(directory, file), number, chainStart(instanceId, file))
}

/** Without it the segment counts as damaged. @returns The line's bytes. */
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
