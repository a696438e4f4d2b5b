/** Copies of a SQLite database, made and put in place. It blocks like `alone.ts`. */
import { closeSync, constants, existsSync, fsyncSync, openSync } from 'node:fs'
import { copyFile, link, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { damages } from './alone.ts'

/** What SQLite keeps beside a file that is in use, or was when its process died: a log, and its index, which can be made anew. */
const LOG = '-wal'
const INDEX = '-shm'

/**
 * Writes a copy of the database as it is at this moment, also while others write to it; they need not wait. The target is
 * there only when it is whole and on the disk.
 * @returns Bytes of the copy. Rejects when the target is there already.
 */
export async function writeCopy(source: string, target: string): Promise<number> {
  const part = `${target}.part`
  claim(part)
  try {
    vacuumInto(source, part)
    assertWhole(part, 'quick_check')
    sync(part)
    if (existsSync(target)) throw new Error(`${target} is there already, and is not overwritten.`)
    await rename(part, target)
    sync(dirname(target))
    return (await stat(target)).size
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** SQLite writes into an empty file as well, and this one is of nobody else's making and for nobody else's eyes. */
function claim(part: string): void {
  try {
    closeSync(openSync(part, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    const message = `${part} is there: another backup is being made, or one was broken off. Delete it if none is.`
    throw new Error(message, { cause: error })
  }
}

function vacuumInto(source: string, target: string): void {
  const database = new DatabaseSync(source, { readOnly: true, timeout: 5_000 })
  try {
    database.prepare('vacuum into ?').run(target)
  } finally {
    database.close()
  }
}

/** Throws, with what is wrong, when the file is not a database that is whole. */
export function assertWhole(path: string, check: 'integrity_check' | 'quick_check'): void {
  const database = new DatabaseSync(path)
  try {
    const found = damages(database, check)
    if (found.length > 0) throw new Error(`the database is damaged: ${found.slice(0, 3).join('; ')}`)
  } finally {
    database.close()
  }
}

/** A draft to check and to bring up to date, with what a process that died has left in the write-ahead log. */
export async function copyFiles(source: string, draft: string): Promise<void> {
  await removeFiles(draft)
  await copyFile(source, draft, constants.COPYFILE_EXCL)
  if (existsSync(source + LOG)) await copyFile(source + LOG, draft + LOG)
}

export async function removeFiles(path: string): Promise<void> {
  await Promise.all(['', LOG, INDEX].map((companion) => rm(path + companion, { force: true })))
}

/**
 * Puts a draft that nobody has open where the database is, which is called `aside` from then on. At no moment is there no
 * database: a start in between would make an empty one.
 */
export async function replaceDatabase({
  draft,
  path,
  aside,
}: {
  readonly draft: string
  readonly path: string
  readonly aside: string
}): Promise<void> {
  sync(draft)
  if (existsSync(path)) {
    // Not every file system has a second name for a file.
    await link(path, aside).catch(() => copyFile(path, aside, constants.COPYFILE_EXCL))
  }
  // A log that is found beside another database would be taken for that one's.
  if (existsSync(path + LOG)) await rename(path + LOG, aside + LOG)
  await rm(path + INDEX, { force: true })
  await rename(draft, path)
  sync(dirname(path))
}

function sync(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
