/** A file system of a few megabytes, for what happens when a disk is full. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  readonly path: string
  /** Takes all the space that is left. */
  fill(): void
  /** Gives it back. */
  clear(): void
  remove(): void
}

/** Needs the right to mount: run as root, or with CAP_SYS_ADMIN. */
export function mountSmallDisk(mebibytes: number): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'turnpike-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path], { stdio: 'pipe' })
  } catch (cause) {
    throw new Error('No small file system can be mounted here. Run the tests as root or with CAP_SYS_ADMIN.', { cause })
  }
  const filler = join(path, 'filler')
  return {
    path,
    fill() {
      const file = openSync(filler, 'a')
      for (const size of [65_536, 4_096, 512, 1]) writeUntilFull(file, size)
      closeSync(file)
    },
    clear: () => rmSync(filler, { force: true }),
    remove() {
      execFileSync('umount', ['-l', path], { stdio: 'pipe' })
      rmSync(path, { recursive: true, force: true })
    },
  }
}

function writeUntilFull(file: number, size: number): void {
  const bytes = Buffer.alloc(size)
  try {
    while (writeSync(file, bytes) === size);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
  }
}
