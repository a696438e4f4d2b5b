/**
 * One command at a time, between processes. The lock is SQLite's own on an empty file: the system lets go of it when the
 * process ends, however it ends, so that none is ever left over.
 */
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makePrivateFolder } from './private-files.ts'

const POLL_MS = 25
const SQLITE_BUSY = 5

export interface LockOptions {
  /** How long to wait for another process; 60 s unless said. */
  readonly waitMs?: number
}

/** @param path Of a file that is nothing but the lock; it is made, and stays. */
export async function withLock<Result>(
  path: string,
  action: () => Promise<Result>,
  { waitMs = 60_000 }: LockOptions = {},
): Promise<Result> {
  const [{ DatabaseSync }] = await Promise.all([import('node:sqlite'), makePrivateFolder(dirname(path))])
  const file = new DatabaseSync(path, { timeout: 0 })
  try {
    const until = performance.now() + waitMs
    while (!tryLock(() => file.exec('BEGIN EXCLUSIVE'))) {
      if (performance.now() > until) {
        throw new Error(`Another turnpike command has held ${path} for ${waitMs / 1_000} s. End it, and try again.`)
      }
      await sleep(POLL_MS)
    }
    return await action()
  } finally {
    file.close()
  }
}

function tryLock(take: () => void): boolean {
  try {
    take()
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false
    throw error
  }
}
