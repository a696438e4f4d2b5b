/** Who has left spools in a data directory, for commands that must have it to themselves. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { spoolRoot } from './spool-directory.ts'
import { ownProcess, stateOf } from './spool-owner.ts'
import { readOwner } from './spool-reader.ts'

const SPOOL_NAME = /^ins_[0-9A-Za-z]+(\.by\.ins_[0-9A-Za-z]+)?$/

/** Process ids of services that certainly run on the data directory. */
export async function runningProcesses(dataDirectory: string): Promise<readonly number[]> {
  const own = ownProcess()
  const running: number[] = []
  for (const directory of await spoolDirectories(dataDirectory)) {
    const owner = await readOwner(directory)
    if (owner !== undefined && stateOf(owner, own) === 'alive') running.push(owner.pid)
  }
  return running
}

/** Spools whose settlements may not be in the database: a service that ends in order leaves none. */
export async function spoolDirectories(dataDirectory: string): Promise<readonly string[]> {
  const root = spoolRoot(dataDirectory)
  const names = await readdir(root).catch(() => [])
  return names.filter((name) => SPOOL_NAME.test(name)).map((name) => join(root, name))
}
