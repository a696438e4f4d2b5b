/** Clones a repository, measuring it before the checkout, and pushes a branch. No hook, filter or submodule runs. */
import { chmod, lchown, lstat, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { removeTree } from '../sandbox/folders.ts'
import { type Remote, type RepositoryAddress, remoteAt } from './address.ts'
import { BASE, type Checkout, callIn, checkoutAt, commitAt, isBranchName } from './checkout.ts'
import { GitError } from './error.ts'
import { type GitCall, git } from './process.ts'
import type { GitCredential, GitSettings } from './settings.ts'

export interface CloneRequest {
  readonly address: RepositoryAddress
  /** Base branch. Default: the repository's default branch. */
  readonly branch?: string | undefined
  /** Base commit instead of `branch`; the server must still have it. */
  readonly commit?: string | undefined
  /** Empty or missing. */
  readonly directory: string
  /** Depth of the history, in commits. */
  readonly depth: number
  readonly credential?: GitCredential | undefined
  readonly signal: AbortSignal
}

/** Unit of file size limits. */
const BLOCK_BYTES = 512
/** Set despite the service's umask: the agent's commands may run as another user. */
const READABLE_FOLDER = 0o755
const READABLE_FILE = 0o644
/** For git and the agent's commands: no remote, so that no address is stored, and no setting that runs a program. */
const CONFIG = `[core]
	repositoryFormatVersion = 0
	bare = false
	fileMode = true
	hooksPath = /dev/null
	fsmonitor = false
	checkStat = minimal
[gc]
	auto = 0
`
/**
 * Overrides the attributes of the work tree: contents are unchanged, without filters (including LFS) and encodings, and diffs
 * show the contents.
 */
const ATTRIBUTES = '* -text !eol !filter !ident !working-tree-encoding !diff !merge !conflict-marker-size\n'

/**
 * @returns The checkout, at the commit `commitAt(checkout, BASE)`, on no branch.
 * @throws GitError, after it has removed what it created.
 */
export async function clone(settings: GitSettings, request: CloneRequest): Promise<Checkout> {
  const checkout = checkoutAt(settings, request.directory, request.signal)
  const source = sourceOf(request)
  const remote = await remoteAt(request.address, settings)
  try {
    await prepare(checkout)
    await fetchBase(checkout, remote, { ...request, source })
    const commit = await commitAt(checkout, BASE)
    await git(callIn(checkout, ['update-ref', '--no-deref', 'HEAD', commit]))
    await layOut(checkout, commit)
    return checkout
  } catch (error) {
    await removeTree(checkout.gitDirectory)
    await removeTree(checkout.workspace)
    throw error
  }
}

function sourceOf({ branch, commit }: CloneRequest): string {
  const isKnown = commit === undefined || /^[0-9a-f]{40}$/.test(commit)
  if (isKnown && (branch === undefined || isBranchName(branch))) {
    return commit ?? (branch === undefined ? 'HEAD' : `refs/heads/${branch}`)
  }
  throw new GitError({ code: 'repository_unavailable', reason: 'branch_not_found' })
}

/**
 * Creates an empty repository (gitrepository-layout(5)) and an empty work tree, completely, before git runs in it: after that
 * the service, which may be root, writes no file in folders of git.
 */
async function prepare({ gitDirectory, workspace, settings }: Checkout): Promise<void> {
  const inGit = (name: string): string => join(gitDirectory, name)
  const folders = [gitDirectory, inGit('info'), inGit('objects'), inGit('refs'), workspace, join(workspace, '.git')]
  for (const folder of folders) {
    await mkdir(folder, { recursive: true })
    await chmod(folder, READABLE_FOLDER)
  }
  const files = { HEAD: 'ref: refs/heads/main\n', config: CONFIG, 'info/attributes': ATTRIBUTES }
  for (const [name, text] of Object.entries(files)) {
    await writeFile(inGit(name), text)
    await chmod(inGit(name), READABLE_FILE)
  }
  const { user, confine } = settings
  if (user === undefined || !confine) return
  for (const path of [...folders, ...Object.keys(files).map(inGit)]) await lchown(path, user.uid, user.gid)
}

interface Fetch extends Pick<CloneRequest, 'depth' | 'credential'> {
  readonly source: string
}

async function fetchBase(checkout: Checkout, remote: Remote, { source, depth, credential }: Fetch): Promise<void> {
  const plain = ['--quiet', '--no-tags', '--no-recurse-submodules', '--no-auto-maintenance', '--no-write-fetch-head']
  const what = [`--depth=${depth}`, '--', remote.url, `+${source}:${BASE}`]
  const more: Partial<GitCall> = {
    connection: { ...remote, credential, isPush: false },
    timeoutMs: checkout.settings.limits.fetchTimeoutMs,
    code: 'repository_unavailable',
  }
  try {
    await git(callIn(checkout, ['fetch', ...plain, ...what], more))
  } catch (error) {
    if (!(error instanceof GitError) || !(await isPackFull(checkout))) throw error
    throw new GitError({ code: 'repository_too_large', reason: 'too_large', detail: error.detail })
  }
}

/** A program that the kernel kills at the file size limit reports nothing, so the size of the file decides. */
async function isPackFull({ gitDirectory, settings }: Checkout): Promise<boolean> {
  const folder = join(gitDirectory, 'objects', 'pack')
  const names = await readdir(folder).catch(() => [])
  const sizes = await Promise.all(names.map(async (name) => (await lstat(join(folder, name))).size))
  return sizes.some((size) => size > settings.limits.packBytes - BLOCK_BYTES)
}

/** Checks a commit out, after measuring it. */
export async function layOut(checkout: Checkout, commit: string): Promise<void> {
  await measure(checkout, commit)
  const more = { maxFileBytes: checkout.settings.limits.workspaceBytes }
  await git(callIn(checkout, ['read-tree', '--reset', '-u', '--no-recurse-submodules', commit], more))
}

/** Longest line of the list: the digits of a size and a line feed. */
const SIZE_LINE_BYTES = 24

/** Sums object sizes before any is written: a few kilobytes may contain a billion files. */
async function measure(checkout: Checkout, commit: string): Promise<void> {
  const { files, workspaceBytes } = checkout.settings.limits
  const list = ['ls-tree', '-r', '--full-tree', '--format=%(objectsize)', commit]
  const { stdout, isCut } = await git(callIn(checkout, list, { maxOutputBytes: files * SIZE_LINE_BYTES }))
  const sizes = stdout.toString('latin1').split('\n').slice(0, -1)
  const code = 'repository_too_large'
  if (isCut || sizes.length > files) throw new GitError({ code, reason: 'too_many_files', detail: `over ${files}` })
  const total = sizes.reduce((sum, size) => sum + (Number(size) || 0), 0) // a submodule has no size: `-`
  if (total > workspaceBytes) throw new GitError({ code, reason: 'too_large', detail: `${total} bytes` })
}

interface PushRequest {
  readonly address: RepositoryAddress
  readonly branch: string
  readonly credential?: GitCredential | undefined
  /** The expected commit of the branch on the server, which is overwritten. Undefined: only a fast-forward is possible. */
  readonly replaces?: string | undefined
}

/** The only process besides the fetch that receives a credential. @throws GitError `push_failed`. */
export async function push(checkout: Checkout, request: PushRequest): Promise<void> {
  const { address, branch, credential, replaces } = request
  if (!isBranchName(branch)) throw new Error('Not the name of a branch.')
  const ref = `refs/heads/${branch}`
  const plain = ['--quiet', '--no-verify', '--no-follow-tags', '--no-signed', '--recurse-submodules=no', '--no-thin']
  const lease = replaces === undefined ? [] : [`--force-with-lease=${ref}:${replaces}`]
  const remote = await remoteAt(address, checkout.settings)
  await git(
    callIn(checkout, ['push', ...plain, ...lease, '--', remote.url, `${ref}:${ref}`], {
      connection: { ...remote, credential, isPush: true },
      timeoutMs: checkout.settings.limits.pushTimeoutMs,
      code: 'push_failed',
    }),
  )
}
