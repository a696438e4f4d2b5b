/**
 * How full a workspace is. It lies in a folder of the machine's file system, since only root could give it one of its own,
 * and a mount outlives a service that is killed: so its bytes and files are measured while a command runs. Beyond what
 * measuring comes to late, the machine keeps a reserve: a command that grows into it is ended.
 */
import { execFile } from 'node:child_process'
import { statfs } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { SandboxLimits } from './limits.ts'

export interface DiskGauge {
  /** At the start of a command. What is too full already may stay so, that a command can clean up. */
  readonly begin: () => Promise<void>
  /** @param heldBytes Of files that have no name any more, but are still open. Asked only when it matters. */
  readonly isOverfull: (heldBytes: () => Promise<number>) => Promise<boolean>
}

interface Fill {
  readonly bytes: number
  readonly files: number
}

interface Measured extends Fill {
  /** Free in the file system at that time. */
  readonly free: Fill
  /** Of `performance.now()`. */
  readonly at: number
  readonly tookMs: number
}

const RESERVE_BYTES = 1024 * 1024 * 1024
const RESERVE_SHARE = 0.05
/** Others free space at the same time, so growth may go unseen in what is free: looked at this often in any case. */
const MEASURE_EVERY_MS = 5_000
/** Measuring takes at most one part in this many of a command's time. */
const MEASURE_SHARE = 10
const MEASURE_TIMEOUT_MS = 60_000

export function createDiskGauge(workspace: string, limits: SandboxLimits): DiskGauge {
  let last: Measured | undefined
  let allowed: Fill = { bytes: limits.workspaceBytes, files: limits.workspaceFiles }
  let freeAtStart = Number.POSITIVE_INFINITY

  const isDue = (free: Fill): boolean => {
    if (last === undefined) return true
    const age = performance.now() - last.at
    if (age > Math.max(MEASURE_EVERY_MS, last.tookMs * MEASURE_SHARE)) return true
    return looksOverfull(last, free) && age > last.tookMs
  }
  const looksOverfull = (measured: Measured, free: Fill): boolean =>
    measured.bytes + measured.free.bytes - free.bytes > allowed.bytes ||
    measured.files + measured.free.files - free.files > allowed.files

  return {
    async begin() {
      const { free } = await freeIn(workspace)
      freeAtStart = free.bytes
      // It grew on until the command that was ended for it was gone.
      if (last !== undefined && isBeyond(last, limits)) last = await measure(workspace, free)
      allowed = {
        bytes: Math.max(limits.workspaceBytes, last?.bytes ?? 0),
        files: Math.max(limits.workspaceFiles, last?.files ?? 0),
      }
    },
    async isOverfull(heldBytes) {
      const { free, reserveBytes } = await freeIn(workspace)
      if (free.bytes < reserveBytes && free.bytes < freeAtStart) return true
      if (!isDue(free)) return false
      const measured = await measure(workspace, free)
      last = measured
      if (measured.bytes > allowed.bytes || measured.files > allowed.files) return true
      const lostBytes = freeAtStart - free.bytes
      return lostBytes > limits.workspaceBytes && measured.bytes + (await heldBytes()) > allowed.bytes
    },
  }
}

function isBeyond({ bytes, files }: Fill, limits: SandboxLimits): boolean {
  return bytes > limits.workspaceBytes || files > limits.workspaceFiles
}

async function freeIn(folder: string): Promise<{ readonly free: Fill; readonly reserveBytes: number }> {
  const { bsize, blocks, bavail, bfree, ffree } = await statfs(folder)
  // What is left to the users of the machine counts for the reserve, what is free at all for growth.
  const reserveBytes = Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_SHARE) + (bfree - bavail) * bsize
  return { free: { bytes: bfree * bsize, files: ffree }, reserveBytes }
}

async function measure(workspace: string, free: Fill): Promise<Measured> {
  const at = performance.now()
  const [bytes, files] = await Promise.all([diskUse(workspace, ['-B1']), diskUse(workspace, ['--inodes'])])
  return { bytes, files, free, at, tookMs: performance.now() - at }
}

/** `du` follows no links, also where a command puts them in its way, and counts what it may see. */
async function diskUse(workspace: string, flags: readonly string[]): Promise<number> {
  const options = { cwd: workspace, env: { PATH: '/usr/bin:/bin' }, timeout: MEASURE_TIMEOUT_MS }
  const output = await promisify(execFile)('du', ['-sx', ...flags, '.'], options).then(
    ({ stdout }) => stdout,
    (error: { stdout?: string }) => error.stdout ?? '', // files that went away meanwhile make it fail, and still count
  )
  const found = /^\d+/.exec(output)
  return found === null ? Number.POSITIVE_INFINITY : Number(found[0])
}
