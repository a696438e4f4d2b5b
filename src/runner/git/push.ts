import { type RepositoryAddress, remoteAt } from './address.ts'
import { type Checkout, callIn, isBranchName } from './checkout.ts'
import type { GitCredential } from './credential.ts'
import { git } from './process.ts'

export interface PushRequest {
  readonly address: RepositoryAddress
  readonly branch: string
  readonly credential?: GitCredential | undefined
  /**
   * The commit that the server is thought to have there: it is replaced, whatever it is, if it still is that one.
   * Without it, the branch only goes forward.
   */
  readonly replaces?: string | undefined
}

/** The one process, beside the fetch, that is given a credential. @throws GitError `push_failed`. */
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
