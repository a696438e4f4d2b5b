/** Turns what the agent left in the work tree into a commit. Nothing that lies there is run, followed, or believed. */
import { changesOf, untracked } from './changes.ts'
import { type Checkout, callIn, commitAt, releaseLocks } from './checkout.ts'
import { GitError } from './error.ts'
import { plainText } from './plain-text.ts'
import { git, gitText } from './process.ts'

export interface CommitRequest {
  readonly message: string
  readonly author: { readonly name: string; readonly email: string }
  /** Unix milliseconds. */
  readonly at: number
}

export interface Commit {
  readonly id: string
  /**
   * Paths that could not become part of it: repositories in the work tree, files that may not be read, names that git
   * refuses. Cleaned.
   */
  readonly skipped: readonly string[]
}

const MESSAGE_LENGTH = 64 * 1024
const NAME_LENGTH = 200
const SKIPPED_SHOWN = 20
/** Paths that cannot be added, one by one; beyond it the work as a whole is taken to be at fault. */
const BAD_PATHS = 50

/** @returns undefined when nothing has changed. */
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

/**
 * One path that git does not take makes it take none, so that it is looked for by halves.
 * @returns the paths that git does not take.
 */
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
