import { readFileSync } from 'node:fs'
import type { AddressRule } from './address.ts'

/** What git may take up. In bytes and milliseconds. */
export interface GitLimits {
  /** Of one file that git writes: what a fetch brings is one pack. */
  readonly packBytes: number
  /** Of a commit that is checked out, and of what one commit of the agent adds. */
  readonly files: number
  readonly workspaceBytes: number
  /** Address space of one process of git. */
  readonly memoryBytes: number
  readonly diffBytes: number
  readonly bundleBytes: number
  readonly fetchTimeoutMs: number
  readonly pushTimeoutMs: number
  readonly localTimeoutMs: number
}

export interface GitSettings extends AddressRule {
  /** Whether git runs under bubblewrap: wherever the sandbox of the agent's commands does. */
  readonly confine: boolean
  /** Whether the service is root, with root's rights over the system: then the agent's commands are another user's. */
  readonly isSystemRoot: boolean
  /** PEM file of the authorities to trust instead of the usual ones. */
  readonly caFile: string | undefined
  readonly limits: GitLimits
}

const SECOND_MS = 1_000

export const GIT_LIMITS: GitLimits = {
  packBytes: 1024 * 1024 * 1024,
  files: 100_000,
  workspaceBytes: 1024 * 1024 * 1024,
  memoryBytes: 4096 * 1024 * 1024,
  diffBytes: 1024 * 1024,
  bundleBytes: 32 * 1024 * 1024,
  fetchTimeoutMs: 300 * SECOND_MS,
  pushTimeoutMs: 120 * SECOND_MS,
  localTimeoutMs: 120 * SECOND_MS,
}

/** @param given What differs from the usual: https to public addresses, under bubblewrap, with the rights that we have. */
export function gitSettings(given: Partial<GitSettings> = {}): GitSettings {
  const usual = { allowLocalGit: false, confine: true, isSystemRoot: isSystemRoot(), caFile: undefined }
  return { ...usual, limits: GIT_LIMITS, ...given }
}

/** `CAP_SYS_ADMIN`, without which root may not build a view of the machine in the system's own space of users. */
const SYSTEM_RIGHT = 1n << 21n

function isSystemRoot(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  const [, rights = '0'] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return (BigInt(`0x${rights}`) & SYSTEM_RIGHT) !== 0n
}
