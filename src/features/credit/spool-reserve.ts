/** Space on the disk that is given up when there is no other, so that what runs can still be written down (DUR-3). */
import { renameSync, rmSync } from 'node:fs'
import { rename, rm, stat, writeFile } from 'node:fs/promises'

const RESERVE_BYTES = 4 * 1024 * 1024

export interface SpoolReserve {
  /** Gives the space back. @returns false when there was none to give. */
  spend(): boolean
  /** Takes the space again. @returns false when it cannot be had. Never rejects. */
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
