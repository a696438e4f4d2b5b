/**
 * What lies where: `<data_dir>/spool/` has `reserve` and a directory for each process that has something to say, named
 * after its instance. In it: `owner`, who that is; `complete`, there as long as every request that left for a provider
 * is noted; `checkpoint`, what the logs must contain; and the logs.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeDirectory } from '../../db/make-directory.ts'
import { ownerText, type SpoolOwner } from './spool-owner.ts'

export const OWNER_FILE = 'owner'
export const COMPLETE_FILE = 'complete'
export const CHECKPOINT_FILE = 'checkpoint'
export const RESERVE_FILE = 'reserve'
export const DISPATCH_LOG = 'dispatched'
export const MONEY_LOG = 'settled'

export function spoolRoot(dataDirectory: string): string {
  return join(dataDirectory, 'spool')
}

/**
 * Makes the directory where it is missing. One that is made again, because another process took it for a dead one's, is not
 * complete: what it said before is gone.
 */
export function prepareDirectory(directory: string, owner: SpoolOwner, first: boolean): void {
  const ownerFile = join(directory, OWNER_FILE)
  if (!first && existsSync(ownerFile)) return
  makeDirectory(directory)
  if (first) writeFileSync(join(directory, COMPLETE_FILE), '', { mode: 0o600 })
  writeFileSync(`${ownerFile}.new`, ownerText(owner), { mode: 0o600, flush: true })
  renameSync(`${ownerFile}.new`, ownerFile)
  syncDirectory(directory)
  syncDirectory(dirname(directory))
}

/** From now on, what is not noted proves nothing. Needs no space on the disk. */
export function markIncomplete(directory: string, onError: (error: unknown) => void): void {
  try {
    rmSync(join(directory, COMPLETE_FILE), { force: true })
  } catch (error) {
    onError(error)
  }
}

function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
