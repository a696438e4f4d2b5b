/**
 * A run's repository on this machine: `<directory>/git`, which only git writes, and `<directory>/workspace`, the work tree,
 * which the agent's commands can change freely. `workspace/.git` is an empty folder, where the sandbox mounts the git
 * directory read-only; git always receives both paths and never searches for them.
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
  /** Ends running git processes. */
  readonly signal: AbortSignal
}

/** What a sandbox needs besides the workspace, so that `git status`, `diff`, `log` and `blame` work in it. */
export interface SandboxView {
  /** Paths on this machine and in the sandbox, where the folder exists. */
  readonly readOnly: readonly { readonly from: string; readonly to: string }[]
  readonly environment: Readonly<Record<string, string>>
}

/** The agent's base commit. */
export const BASE = 'refs/turnpike/base'

export function checkoutAt(settings: GitSettings, directory: string, signal: AbortSignal): Checkout {
  return { settings, signal, gitDirectory: join(directory, 'git'), workspace: join(directory, 'workspace') }
}

/** Whether a complete checkout of an earlier run exists. */
export async function isCheckout(checkout: Checkout): Promise<boolean> {
  if (![checkout.gitDirectory, checkout.workspace].every((folder) => existsSync(folder))) return false
  try {
    return (await commitAt(checkout, BASE)) !== '' && (await commitAt(checkout, 'HEAD')) !== ''
  } catch (error) {
    if (error instanceof GitError) return false
    throw error
  }
}

/** Removes locks of killed git processes. Only the run that owns the checkout starts git here. */
export async function releaseLocks(checkout: Checkout): Promise<void> {
  const locks = ['-name', 'objects', '-prune', '-o', '-name', '*.lock', '-exec', 'rm', '-f', '--', '{}', '+']
  await git(callIn(checkout, ['-P', checkout.gitDirectory, '-xdev', ...locks], { program: 'find' }))
}

/** @param workspace Path of the work tree in the sandbox. */
export function sandboxView({ gitDirectory }: Checkout, workspace = '/workspace'): SandboxView {
  return {
    readOnly: [{ from: gitDirectory, to: `${workspace}/.git` }],
    environment: {
      GIT_CONFIG_COUNT: '1', // the owner may have another ID in the sandbox
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      GIT_OPTIONAL_LOCKS: '0',
      GIT_PAGER: 'cat',
      GIT_TERMINAL_PROMPT: '0',
    },
  }
}

/** @param more Further fields of the call. */
export function callIn(checkout: Checkout, args: readonly string[], more: Partial<GitCall> = {}): GitCall {
  return { ...checkout, args, ...more }
}

/** @returns The commit's ID. @throws GitError if the name is unknown. */
export function commitAt(checkout: Checkout, name: string): Promise<string> {
  return gitText(callIn(checkout, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]))
}

/** A valid branch name (git-check-ref-format(1)) without characters that are special elsewhere. */
const BRANCH = /^(?![-./])(?!.*(?:\.\.|\/\/|\/\.|@\{|\.lock(?:\/|$)))[\p{L}\p{N}._/@#+=,!%&()-]{1,200}(?<![./])$/u

export function isBranchName(text: string): boolean {
  return BRANCH.test(text) && text !== '@' && text.toUpperCase() !== 'HEAD'
}

/** Creates a branch at the current commit, and switches to it. */
export async function createBranch(checkout: Checkout, name: string): Promise<void> {
  if (!isBranchName(name)) throw new Error('Not the name of a branch.')
  await gitText(callIn(checkout, ['update-ref', `refs/heads/${name}`, await commitAt(checkout, 'HEAD')]))
  await gitText(callIn(checkout, ['symbolic-ref', 'HEAD', `refs/heads/${name}`]))
}
