/** The work of a run as one piece of bytes, without what the server has anyway: from it and the server it is made again. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BASE, type Checkout, callIn, commitAt, createBranch, isBranchName } from './checkout.ts'
import { layOut } from './clone.ts'
import { GitError } from './error.ts'
import { git, gitText } from './process.ts'

const FILE = 'restored.bundle'

/**
 * @returns the commits of the branch since `BASE`; undefined when there are none.
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
 * Puts the work of an earlier run into a fresh checkout, which was cloned at the commit that it began at.
 * @throws GitError `base_gone` when the checkout is at another commit.
 */
export async function restore(checkout: Checkout, kept: { bundle: Uint8Array; branch: string }): Promise<void> {
  const { bundleBytes } = checkout.settings.limits
  const failure = { code: 'internal_error' } as const
  if (kept.bundle.length > bundleBytes) throw new GitError({ ...failure, reason: 'bundle_too_large' })
  const file = join(checkout.gitDirectory, FILE)
  try {
    await writeFile(file, kept.bundle, { mode: 0o644 })
    const listed = await gitText(callIn(checkout, ['bundle', 'unbundle', file], { code: 'repository_unavailable' }))
    const tip = /^[0-9a-f]{40}(?= )/.exec(listed)?.[0]
    if (tip === undefined) throw new GitError({ ...failure, reason: 'failed', detail: 'the bundle has no branch' })
    await layOut(checkout, tip)
    await git(callIn(checkout, ['update-ref', '--no-deref', 'HEAD', tip]))
    await createBranch(checkout, kept.branch)
  } finally {
    await rm(file, { force: true })
  }
}
