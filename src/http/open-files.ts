/** How many connections the open files of this process are enough for. */
import { readFileSync } from 'node:fs'

/** Left to the database, the spool, the log and the threads. */
export const SPARE_FILES = 96
/** However few files there are, somebody must be able to look what is wrong. */
const LEAST_CONNECTIONS = 16

/**
 * A client's connection may need another one to a provider. Idle clients must not take the files that those in service,
 * and the records of their money, need.
 * @param openFiles The system's limit; undefined where it tells none.
 */
export function connectionsFor(openFiles: number | undefined, most: number): number {
  if (openFiles === undefined) return most
  return Math.min(Math.max(Math.floor((openFiles - SPARE_FILES) / 2), LEAST_CONNECTIONS), most)
}

/** The limit of this process, where the system is Linux and has one. */
export function openFileLimit(): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined // no Linux: the cap of connections is what there is
  }
}
