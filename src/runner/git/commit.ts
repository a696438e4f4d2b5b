/**
 * Commits the agent's changes in the work tree. Executes, follows and trusts nothing in it. Nested repositories are skipped:
 * `git add`, `git status` and `git diff` would start git in them, with settings that the agent may have written.
 */
import { lstat } from 'node:fs/promises'
import { type Checkout, callIn, commitAt, releaseLocks } from './checkout.ts'
import { GitError, plainText } from './error.ts'
import { git, gitText } from './process.ts'

export interface CommitRequest {
  readonly message: string
  readonly author: { readonly name: string; readonly email: string }
  /** Unix milliseconds. */
  readonly at: number
}

export interface Commit {
  readonly id: string
  /** Paths that could not be committed: nested repositories, unreadable files, names that git rejects. Sanitised. */
  readonly skipped: readonly string[]
}

const MESSAGE_LENGTH = 64 * 1024
const NAME_LENGTH = 200
const SKIPPED_SHOWN = 20
/** Maximum number of paths that cannot be added; beyond it the commit fails. */
const BAD_PATHS = 50

/** @returns undefined if nothing changed. */
export async function commitAll(checkout: Checkout, request: CommitRequest): Promise<Commit | undefined> {
  await releaseLocks(checkout)
  const { written, removed } = await changesOf(checkout)
  await updateIndex(checkout, ['--force-remove'], removed)
  const refused = await add(checkout, written, { left: BAD_PATHS })
  const parent = await commitAt(checkout, 'HEAD')
  const tree = await gitText(callIn(checkout, ['write-tree']))
  if (tree === (await gitText(callIn(checkout, ['rev-parse', '--verify', `${parent}^{tree}`])))) return undefined
  const input = messageOf(request.message)
  const environment = identityOf(request)
  const id = await gitText(callIn(checkout, ['commit-tree', tree, '-p', parent, '-F', '-'], { input, environment }))
  await git(callIn(checkout, ['update-ref', '-m', 'commit', 'HEAD', id, parent]))
  const skipped = new Set([...refused, ...(await untracked(checkout))])
  return { id, skipped: [...skipped].slice(0, SKIPPED_SHOWN).map(readable) }
}

async function updateIndex(checkout: Checkout, options: readonly string[], paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return
  const input = Buffer.from(`${paths.join('\0')}\0`, 'latin1')
  const more = { input, maxFileBytes: checkout.settings.limits.workspaceBytes }
  await git(callIn(checkout, ['update-index', ...options, '-z', '--stdin'], more))
}

/** Bisects the paths, since git adds none if it rejects one. @returns The rejected paths. */
async function add(checkout: Checkout, paths: readonly string[], allowed: { left: number }): Promise<string[]> {
  try {
    await updateIndex(checkout, ['--add', '--remove', '--replace'], paths)
    return []
  } catch (error) {
    if (!(error instanceof GitError) || error.reason === 'timeout') throw error
    if (paths.length === 1) {
      allowed.left--
      if (allowed.left < 0) throw error
      return [...paths]
    }
    const middle = Math.ceil(paths.length / 2)
    const refused = await add(checkout, paths.slice(0, middle), allowed)
    return [...refused, ...(await add(checkout, paths.slice(middle), allowed))]
  }
}

function messageOf(text: string): string {
  const cleaned = plainText(text).slice(0, MESSAGE_LENGTH).toWellFormed().trim()
  return `${cleaned === '' ? 'Changes' : cleaned}\n`
}

function identityOf({ author, at }: CommitRequest): Record<string, string> {
  const name = inIdentity(author.name) || 'Turnpike'
  const email = inIdentity(author.email)
  const date = `@${Math.floor(at / 1000)} +0000`
  return {
    ...{ GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: date },
    ...{ GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email, GIT_COMMITTER_DATE: date },
  }
}

function inIdentity(text: string): string {
  return plainText(text)
    .replace(/[<>\n\t]/g, ' ')
    .slice(0, NAME_LENGTH)
    .toWellFormed()
    .trim()
}

function readable(path: string): string {
  return plainText(Buffer.from(path, 'latin1').toString('utf8')).replace(/[\n\t]/g, ' ')
}

/** Paths as git stores them, one character per byte. */
interface WorkTreeChanges {
  readonly written: readonly string[]
  readonly removed: readonly string[]
}

const GITLINK = '160000'
/** Average length of a path, for the limit of a list's output. */
const PATH_BYTES = 256
const LSTATS_AT_ONCE = 64

/** @throws GitError `workspace_too_large` if the changes exceed the limits of a commit. */
async function changesOf(checkout: Checkout): Promise<WorkTreeChanges> {
  // A file of which only owner or time changed does not count as written.
  await git(callIn(checkout, ['update-index', '-q', '--refresh', '--ignore-missing', '--ignore-submodules']))
  const tracked = ['diff-files', '-z', '--raw', '--no-renames', '--ignore-submodules=all', '--no-ext-diff']
  const { written, removed } = readRaw(await list(checkout, tracked))
  const files = (await untracked(checkout)).filter((path) => !path.endsWith('/'))
  if (written.length + removed.length + files.length > checkout.settings.limits.files) throw tooManyFiles(checkout)
  return { written: await storable(checkout, [...written, ...files]), removed }
}

/** Untracked paths that are not ignored; a nested repository is one path that ends in a slash. */
function untracked(checkout: Checkout): Promise<readonly string[]> {
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

/** Returns the files and symbolic links among the paths. Throws if they are too large together. */
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
