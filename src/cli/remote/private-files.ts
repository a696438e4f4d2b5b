/** Files for one person alone: 0600 in a folder of 0700. A reader sees the old text or the new one, never a part. */
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

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
    // on the disk before it takes the old one's place: a token that was exchanged is not to be had again
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

/** Whether others of this machine may read or change what is at `path`. Windows has no such bits. */
export async function isOpenToOthers(path: string): Promise<boolean> {
  return process.platform !== 'win32' && ((await stat(path)).mode & OTHERS) !== 0
}
