/**
 * A run's repository on this machine: `<directory>/git`, which git alone writes, and `<directory>/workspace`, the work tree,
 * in which the agent's commands do what they like. `workspace/.git` is an empty folder, on which the sandbox shows the git
 * directory read-only; git itself is always told both places and never looks for them.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { GitError } from './error.ts'
import { type GitCall, git, gitText } from './process.ts'
import type { GitSettings } from './settings.ts'

export interface Checkout {
  readonly settings: GitSettings
  readonly gitDirectory: string
  readonly workspace: string
  /** Ends whatever git is doing. */
  readonly signal: AbortSignal
}

/** What a sandbox needs beside the workspace, so that `git status`, `diff`, `log` and `blame` work in it. */
export interface SandboxView {
  /** On this machine, and in the sandbox, where there is a folder for it. */
  readonly readOnly: readonly { readonly from: string; readonly to: string }[]
  readonly environment: Readonly<Record<string, string>>
}

/** The commit that the agent began at. */
export const BASE = 'refs/turnpike/base'

export function checkoutAt(settings: GitSettings, directory: string, signal: AbortSignal): Checkout {
  return { settings, signal, gitDirectory: join(directory, 'git'), workspace: join(directory, 'workspace') }
}

/** Whether there is one to go on with: that of an earlier run, whole. */
export async function isCheckout(checkout: Checkout): Promise<boolean> {
  if (![checkout.gitDirectory, checkout.workspace].every((folder) => existsSync(folder))) return false
  try {
    return (await commitAt(checkout, BASE)) !== '' && (await commitAt(checkout, 'HEAD')) !== ''
  } catch (error) {
    if (error instanceof GitError) return false
    throw error
  }
}

/** Removes the locks of a git that was ended in the middle. Nobody but the run whose checkout it is starts git here. */
export async function releaseLocks(checkout: Checkout): Promise<void> {
  const locks = ['-name', 'objects', '-prune', '-o', '-name', '*.lock', '-exec', 'rm', '-f', '--', '{}', '+']
  await git(callIn(checkout, ['-P', checkout.gitDirectory, '-xdev', ...locks], { program: 'find' }))
}

/** @param workspace Where the sandbox has the work tree. */
export function sandboxView({ gitDirectory }: Checkout, workspace = '/workspace'): SandboxView {
  return {
    readOnly: [{ from: gitDirectory, to: `${workspace}/.git` }],
    environment: {
      GIT_CONFIG_COUNT: '1', // the owner may look like somebody else in there
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      GIT_OPTIONAL_LOCKS: '0',
      GIT_PAGER: 'cat',
      GIT_TERMINAL_PROMPT: '0',
    },
  }
}

/** @param more Whatever the call needs beside its place. */
export function callIn(checkout: Checkout, args: readonly string[], more: Partial<GitCall> = {}): GitCall {
  return { ...checkout, args, ...more }
}

/** @returns the commit's id. @throws GitError when there is none of this name. */
export function commitAt(checkout: Checkout, name: string): Promise<string> {
  return gitText(callIn(checkout, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]))
}

/** A branch as git takes it (git-check-ref-format(1)), in characters that mean nothing anywhere. */
const BRANCH = /^(?![-./])(?!.*(?:\.\.|\/\/|\/\.|@\{|\.lock(?:\/|$)))[\p{L}\p{N}._/@#+=,!%&()-]{1,200}(?<![./])$/u

export function isBranchName(text: string): boolean {
  return BRANCH.test(text) && text !== '@' && text.toUpperCase() !== 'HEAD'
}

/** From here on commits are the branch's. It begins where the work tree is. */
export async function createBranch(checkout: Checkout, name: string): Promise<void> {
  if (!isBranchName(name)) throw new Error('Not the name of a branch.')
  await gitText(callIn(checkout, ['update-ref', `refs/heads/${name}`, await commitAt(checkout, 'HEAD')]))
  await gitText(callIn(checkout, ['symbolic-ref', 'HEAD', `refs/heads/${name}`]))
}
