/** Directories on disk that must be there after a crash. */
import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a directory (mode 0700) with its missing parents. Throws where that fails. Node.js's own recursive `mkdir` never
 * returns where a directory cannot be created in an existing parent, as below `/proc`.
 */
export function makeDirectory(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) return
  const above = dirname(path)
  if (found === undefined && above !== path) makeDirectory(above)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
  }
}

/** Waits until a file's content, or the names in a directory, are on the disk. */
export function syncPath(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
