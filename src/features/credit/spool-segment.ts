/** One file of a spool's log. */
import { close, openSync, writeSync } from 'node:fs'
import type { LineWriter } from '../../lib/checked-line.ts'
import { chainNext } from './spool-seal.ts'

export interface Segment {
  readonly path: string
  readonly number: number
  /** Lines, and their checksum; see `spool-seal.ts`. */
  count: number
  chain: number
  /** Undefined: nothing is written to it any more, and nothing of it waits to be synced. */
  fd: number | undefined
  bytes: number
  /** What was appended and is still of use. */
  open: number
  /** Whether anything was appended since it was last synced. */
  dirty: boolean
  /** Another file has followed it. */
  full: boolean
  syncing: boolean
  removed: boolean
  /** Files with something that must not go before this one; most have none. */
  dependents: Segment[] | undefined
}

/** Like `fs.writeSync`. */
export type WriteBytes = (fd: number, bytes: Uint8Array, range: ByteRange) => number

export interface ByteRange {
  readonly offset: number
  readonly length: number
  /** Where in the file. */
  readonly position: number
}

/** Throws when the file is there already. @param chain See `chainStart`. */
export function openSegment(path: string, number: number, chain: number): Segment {
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
 * Throws when the whole line cannot be written. What was written of it is as good as not there: the next line is written
 * over it.
 * @returns The line's bytes.
 */
export function writeLine(
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

export function closeIfIdle(segment: Segment): void {
  const { fd, syncing } = segment
  if (fd === undefined || syncing) return
  segment.fd = undefined
  close(fd, () => undefined) // a descriptor is gone whatever the answer is
}
