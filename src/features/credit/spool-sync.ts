/** Brings files to the disk: on the thread pool, one at a time, and whoever asks meanwhile shares the next turn. */
import { fdatasync } from 'node:fs'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { closeIfIdle, type Segment } from './spool-segment.ts'

const syncFile = promisify(fdatasync)

export interface Syncer {
  /** Resolves when everything written before is on the disk. */
  sync(): Promise<void>
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
}

/** @param segments The files that are there now, oldest first. */
export function createSyncer(segments: readonly Segment[], directory: string): Syncer {
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
