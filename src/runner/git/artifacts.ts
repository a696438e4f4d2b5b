/**
 * Artifacts of a run besides its commit: the diff between commits, computed without reading the work tree, and a bundle of
 * its branch, from which a follow-up restores the work.
 */
import { rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BASE, type Checkout, callIn, commitAt, createBranch, isBranchName } from './checkout.ts'
import { GitError, plainText } from './error.ts'
import { git, gitText } from './process.ts'
import { layOut } from './remote.ts'

export interface Diff {
  /** Unified diff. Names are quoted by git; contents are unchanged, including terminal sequences. */
  readonly text: string
  readonly isTruncated: boolean
}

export interface ChangedFile {
  /** Sanitised for display; not usable as a path. */
  readonly path: string
  readonly change: 'added' | 'modified' | 'deleted'
  /** Lines; undefined for a binary file. */
  readonly insertions: number | undefined
  readonly deletions: number | undefined
}

export interface ChangedFiles {
  readonly files: readonly ChangedFile[]
  readonly isTruncated: boolean
}

const OPTIONS = ['-r', '--no-ext-diff', '--no-textconv', '--no-color', '--no-renames', '--submodule=short']
const PREFIXES = ['--src-prefix=a/', '--dst-prefix=b/']
const LISTED_FILES = 1_000
const CHANGES: Readonly<Record<string, ChangedFile['change']>> = { A: 'added', D: 'deleted' }

/** @param between Commits, by id or name. */
export async function diff(checkout: Checkout, between: { base: string; head?: string }): Promise<Diff> {
  const maxOutputBytes = checkout.settings.limits.diffBytes
  const args = ['diff-tree', '-p', ...OPTIONS, ...PREFIXES, '--end-of-options', between.base, between.head ?? 'HEAD']
  const { stdout, isCut } = await git(callIn(checkout, args, { maxOutputBytes }))
  // Whole lines, so that no character is split.
  const whole = isCut ? stdout.subarray(0, stdout.lastIndexOf('\n') + 1) : stdout
  return { text: whole.toString('utf8'), isTruncated: isCut }
}

/** @param between Commits, by id or name. */
export async function changedFiles(
  checkout: Checkout,
  between: { base: string; head?: string },
): Promise<ChangedFiles> {
  const list = ['diff-tree', '-z', '--raw', '--numstat', ...OPTIONS]
  const args = [...list, '--end-of-options', between.base, between.head ?? 'HEAD']
  const maxOutputBytes = checkout.settings.limits.diffBytes
  const { stdout, isCut } = await git(callIn(checkout, args, { maxOutputBytes }))
  const fields = stdout.toString('utf8').split('\0')
  const files = readChanges(fields.slice(0, -1))
  return { files: files.slice(0, LISTED_FILES), isTruncated: isCut || files.length > LISTED_FILES }
}

/** Parses all pairs of `:mode mode object object status` and path, then `insertions deletions path` for each. */
function readChanges(fields: readonly string[]): ChangedFile[] {
  const changes = new Map<string, ChangedFile>()
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] ?? ''
    if (field.startsWith(':')) {
      const path = fields[++at]
      const change = CHANGES[field.at(-1) ?? ''] ?? 'modified'
      const shown = plainText(path ?? '').replace(/[\n\t]/g, ' ')
      if (path !== undefined) changes.set(path, { path: shown, change, insertions: undefined, deletions: undefined })
      continue
    }
    const [, insertions, deletions, path = ''] = /^(\d+)\t(\d+)\t([\s\S]*)$/.exec(field) ?? []
    const known = changes.get(path)
    if (known === undefined) continue
    changes.set(path, { ...known, insertions: Number(insertions), deletions: Number(deletions) })
  }
  return [...changes.values()]
}

const FILE = 'restored.bundle'

/**
 * @returns The commits of the branch since `BASE`; undefined if there are none.
 * @throws GitError `bundle_too_large`.
 */
export async function bundle(checkout: Checkout, branch: string): Promise<Buffer | undefined> {
  if (!isBranchName(branch)) throw new Error('Not the name of a branch.')
  const ref = `refs/heads/${branch}`
  if ((await commitAt(checkout, ref)) === (await commitAt(checkout, BASE))) return undefined
  const maxOutputBytes = checkout.settings.limits.bundleBytes
  const args = ['bundle', 'create', '--quiet', '--version=2', '-', `^${BASE}`, ref]
  const { stdout, isCut } = await git(callIn(checkout, args, { maxOutputBytes }))
  if (!isCut) return stdout
  throw new GitError({ code: 'internal_error', reason: 'bundle_too_large', detail: `over ${maxOutputBytes} bytes` })
}

/**
 * Restores the work of an earlier run in a new checkout of the run's base commit.
 * @throws GitError `base_gone` if the checkout is at another commit.
 */
export async function restore(checkout: Checkout, kept: { bundle: Uint8Array; branch: string }): Promise<void> {
  const { bundleBytes } = checkout.settings.limits
  const failure = { code: 'internal_error' } as const
  if (kept.bundle.length > bundleBytes) throw new GitError({ ...failure, reason: 'bundle_too_large' })
  const file = join(dirname(checkout.gitDirectory), FILE)
  try {
    await writeFile(file, kept.bundle, { mode: 0o644 })
    const listed = await gitText(
      callIn(checkout, ['bundle', 'unbundle', file], { code: 'repository_unavailable', reads: [file] }),
    )
    const tip = /^[0-9a-f]{40}(?= )/.exec(listed)?.[0]
    if (tip === undefined) throw new GitError({ ...failure, reason: 'failed', detail: 'the bundle has no branch' })
    await layOut(checkout, tip)
    await git(callIn(checkout, ['update-ref', '--no-deref', 'HEAD', tip]))
    await createBranch(checkout, kept.branch)
  } finally {
    await rm(file, { force: true })
  }
}
