/** Private files of a user (0600, in a folder with 0700), written atomically, and locks between processes. */
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Environment, processEnvironment } from '../../../config/environment.ts'

const OTHERS = 0o077

/** @returns undefined when there is no such file. */
export async function readPrivateFile(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

export async function writePrivateFile(path: string, text: string): Promise<void> {
  await makePrivateFolder(dirname(path))
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    // flushed before it replaces the old file: an exchanged token cannot be obtained again
    await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if (await isOpenToOthers(folder)) await chmod(folder, 0o700)
}

/** Whether other users of this machine can read or change `path`. Windows has no such permission bits. */
export async function isOpenToOthers(path: string): Promise<boolean> {
  return process.platform !== 'win32' && ((await stat(path)).mode & OTHERS) !== 0
}

/*
 * Mutual exclusion between processes, with SQLite's lock on an empty file: the operating system releases it when the process
 * ends, so that no lock is left behind.
 */

const POLL_MS = 25
const SQLITE_BUSY = 5

interface LockOptions {
  /** How long to wait for another process (default: 60 s). */
  readonly waitMs?: number
}

/** @param path The lock file, which is created and kept. */
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
        throw new Error(`Another turnpike command has locked ${path} for ${waitMs / 1_000} s. Stop it and try again.`)
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

export interface Machine {
  readonly env: Environment
  readonly platform: NodeJS.Platform
  readonly home: string
}

/** Throws for a user without a home, as in a container: only commands that need one may call it. */
const thisMachine = (): Machine => ({ env: processEnvironment, platform: process.platform, home: homedir() })

export function configFolder({ env, platform, home }: Machine = thisMachine()): string {
  const own = env['XDG_CONFIG_HOME']
  // relative paths are invalid (XDG Base Directory Specification)
  if (own !== undefined && isAbsolute(own)) return join(own, 'turnpike')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'turnpike')
  if (platform === 'win32') return join(env['APPDATA'] ?? join(home, 'AppData', 'Roaming'), 'turnpike')
  return join(home, '.config', 'turnpike')
}
