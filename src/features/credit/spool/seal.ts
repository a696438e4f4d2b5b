/**
 * What a log must contain, so that one that was truncated, zeroed, deleted or swapped is not taken for a shorter one. Each
 * segment has a count of its lines and a checksum chained over them, which begins with what the segment is called: in its
 * last line once it is full, and in `checkpoint` while it is written. A line costs one multiplication; the checkpoint is
 * written at most every 5 ms, so what a killed process wrote last may be more than it says, never less.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { createLineWriter, readLine, splitLines } from '../../../lib/checked-line.ts'
import { isRecord, parseJson } from '../../../lib/json.ts'

const MIX = 0x9e3779b1
const CHECKPOINT_AFTER_MS = 5

export interface Seal {
  readonly count: number
  readonly chain: number
}

/** @param name Of the segment's file. */
export function chainStart(instanceId: string, name: string): number {
  return crc32(`${instanceId}/${name}`)
}

/** @param sum The line's own checksum. Order counts. */
export function chainNext(chain: number, sum: number): number {
  return (Math.imul(chain ^ sum, MIX) + sum) >>> 0
}

/** The last line of a full segment. */
export function sealText({ count, chain }: Seal): string {
  return `["E",${count},${chain}]`
}

/** Of one log, at the moment of a checkpoint. */
export interface LogState {
  /** Numbers of the segments that are there, ascending; the last is being written. */
  readonly segments: readonly number[]
  /** Of the last segment. */
  readonly seal: Seal
}

export type Checkpoint = Readonly<Record<string, LogState>>

export interface CheckpointFile {
  /** Writes one within 5 ms, or with the one that is due. */
  soon(): void
  now(): void
  close(): void
}

/** @param state What to write; asked each time. */
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
      writeSync(fd, lines.bytes(), 0, length, 0) // what is left of a longer one comes after the line's end
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

/** @returns undefined for what is not a checkpoint. */
export function parseCheckpoint(content: Uint8Array): Checkpoint | undefined {
  const [line] = splitLines(content)
  const text = line === undefined ? undefined : readLine(line)
  const checkpoint = text === undefined ? undefined : parseJson(text)
  return isRecord(checkpoint) ? (checkpoint as Checkpoint) : undefined // its checksum says that it was written as one
}

/** What a segment's file has: the seal of its lines so far at each count that is asked for, and the one that it says. */
export interface SegmentContent {
  /** Of all lines. */
  readonly seal: Seal
  /** After as many lines as the checkpoint says; undefined: there are fewer. */
  readonly atCheckpoint: Seal | undefined
  /** Its last line; undefined: it has none. */
  readonly end: Seal | undefined
  /** Lines that are not what was written. */
  readonly damaged: number
}

export function readSegment(content: Uint8Array, start: number, checkpointCount: number): SegmentContent {
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
  const [, count, chain] = parseJson(text) as readonly unknown[] // its checksum says that it was written as one
  return { count: Number(count), chain: Number(chain) }
}

export function isSameSeal(one: Seal | undefined, other: Seal | undefined): boolean {
  return one !== undefined && one.count === other?.count && one.chain === other.chain
}
