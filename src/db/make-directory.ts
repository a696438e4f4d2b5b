import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a folder for this user alone, with those above it that are missing. Throws where that cannot be done. Node.js's own
 * recursive `mkdir` never comes back where a folder cannot be made although the one above it is there, as below `/proc`.
 */
export function makeDirectory(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) return
  const above = dirname(path)
  if (found === undefined && above !== path) makeDirectory(above)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have been faster.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
  }
}
