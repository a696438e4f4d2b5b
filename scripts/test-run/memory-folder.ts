/**
 * A folder in memory for the databases of a run's tests: on a disk each commit waits for it to be written, and thousands of
 * them cost minutes.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const NAME = /^turnpike-tests-(\d+)$/
/** Several times what the tests that run at once have ever written. */
const LEAST_BYTES = 4 * 1024 ** 3

/** @returns Undefined where there is no such place, or too little room. */
export function makeMemoryFolder(): string | undefined {
  if (!existsSync(MEMORY)) return undefined
  removeOrphans()
  const { bavail, bsize } = statfsSync(MEMORY)
  if (Math.min(bavail * bsize, process.availableMemory()) < LEAST_BYTES) return undefined
  const folder = join(MEMORY, `turnpike-tests-${process.pid}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}

/** Folders of runs that were killed. */
function removeOrphans(): void {
  for (const name of readdirSync(MEMORY)) {
    const [, pid] = NAME.exec(name) ?? []
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(MEMORY, name), { recursive: true, force: true })
  }
}
