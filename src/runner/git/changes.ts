/**
 * What differs between the index and the work tree, found without looking into repositories that lie within it: `git add`,
 * `git status` and `git diff` start git in those, under settings that the agent may have written.
 */
import { lstat } from 'node:fs/promises'
import { type Checkout, callIn } from './checkout.ts'
import { GitError } from './error.ts'
import { git } from './process.ts'

/** Paths as git has them: their bytes, one a character. */
export interface WorkTreeChanges {
  readonly written: readonly string[]
  readonly removed: readonly string[]
}

const GITLINK = '160000'
/** Of one path in a list, on average, beyond which there are too many of them. */
const PATH_BYTES = 256
const LSTATS_AT_ONCE = 64

/** @throws GitError `workspace_too_large` when it is more than one commit may hold. */
export async function changesOf(checkout: Checkout): Promise<WorkTreeChanges> {
  // So that a file whose owner or time alone is another does not count as written.
  await git(callIn(checkout, ['update-index', '-q', '--refresh', '--ignore-missing', '--ignore-submodules']))
  const tracked = ['diff-files', '-z', '--raw', '--no-renames', '--ignore-submodules=all', '--no-ext-diff']
  const { written, removed } = readRaw(await list(checkout, tracked))
  const files = (await untracked(checkout)).filter((path) => !path.endsWith('/'))
  if (written.length + removed.length + files.length > checkout.settings.limits.files) throw tooManyFiles(checkout)
  return { written: await storable(checkout, [...written, ...files]), removed }
}

/** What git does not know and is not told to ignore; a repository within the work tree is one path, with a slash. */
export function untracked(checkout: Checkout): Promise<readonly string[]> {
  return list(checkout, ['ls-files', '-z', '--others', '--exclude-standard'])
}

async function list(checkout: Checkout, args: readonly string[]): Promise<string[]> {
  const maxOutputBytes = checkout.settings.limits.files * PATH_BYTES
  const { stdout, isCut } = await git(callIn(checkout, args, { maxOutputBytes }))
  if (isCut) throw tooManyFiles(checkout)
  return stdout.toString('latin1').split('\0').slice(0, -1)
}

function tooManyFiles({ settings }: Checkout): GitError {
  const detail = `over ${settings.limits.files} changed files`
  return new GitError({ code: 'workspace_too_large', reason: 'too_many_files', detail })
}

/** Pairs of `:mode mode object object status` and path. */
function readRaw(fields: readonly string[]): { written: string[]; removed: string[] } {
  const written: string[] = []
  const removed: string[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [fields0 = '', path = ''] = fields.slice(at, at + 2)
    const [oldMode, newMode, , , status] = fields0.split(' ')
    if (oldMode === `:${GITLINK}`) continue
    if (status === 'D' || newMode === GITLINK) removed.push(path)
    else written.push(path)
  }
  return { written, removed }
}

/** Files and symbolic links, by what they are themselves, as long as they are not too large together. */
async function storable({ workspace, settings }: Checkout, paths: readonly string[]): Promise<string[]> {
  const { workspaceBytes } = settings.limits
  const kept: string[] = []
  let total = 0
  for (let at = 0; at < paths.length; at += LSTATS_AT_ONCE) {
    const some = paths.slice(at, at + LSTATS_AT_ONCE)
    const found = await Promise.all(some.map((path) => lstat(bytesOf(`${workspace}/`, path)).catch(() => undefined)))
    found.forEach((stats, index) => {
      const path = some[index]
      if (path === undefined || stats === undefined || !(stats.isFile() || stats.isSymbolicLink())) return
      kept.push(path)
      total += stats.size
    })
    if (total > workspaceBytes) {
      throw new GitError({ code: 'workspace_too_large', reason: 'too_large', detail: `over ${workspaceBytes} bytes` })
    }
  }
  return kept
}

function bytesOf(folder: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(folder), Buffer.from(path, 'latin1')])
}
