/**
 * Where an agent's repository is on this machine, run after run: `<folder>/<account>/<agent>`. A follow-up goes on in what
 * is there; where that is another machine's, older than the last run, or was broken off while it was made, it is made anew
 * from the repository and what the last run left.
 */
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { branchOf } from '../../../domain/agent.ts'
import type { RepositoryAddress } from '../../../runner/git/address.ts'
import { restore } from '../../../runner/git/bundle.ts'
import {
  type Checkout,
  checkoutAt,
  commitAt,
  createBranch,
  isCheckout,
  releaseLocks,
} from '../../../runner/git/checkout.ts'
import { type CloneRequest, clone } from '../../../runner/git/clone.ts'
import type { GitCredential } from '../../../runner/git/credential.ts'
import { GitError } from '../../../runner/git/error.ts'
import { handOver } from '../../../runner/sandbox/user.ts'
import { findArtifact } from '../progress.ts'
import type { Agent, AgentReference } from '../store.ts'
import type { WorkerDeps } from './deps.ts'

/** Is there when the rest is whole. */
const READY = 'ready'

export interface WorkspaceOrder {
  readonly agent: Agent
  readonly address: RepositoryAddress
  readonly credential: GitCredential | undefined
  readonly signal: AbortSignal
}

type Deps = Pick<WorkerDeps, 'db' | 'git' | 'folder' | 'limits'>

export function folderOf({ folder }: Pick<WorkerDeps, 'folder'>, { accountId, agentId }: AgentReference): string {
  return join(folder, accountId, agentId)
}

/** On the agent's branch. @throws GitError */
export async function openWorkspace(deps: Deps, order: WorkspaceOrder): Promise<Checkout> {
  const { agent, signal } = order
  const reference = { accountId: agent.account_id, agentId: agent.id }
  const directory = folderOf(deps, reference)
  const there = checkoutAt(deps.git, directory, signal)
  const left = await lastCommit(deps, reference)
  if (await canGoOn(there, join(directory, READY), left)) return there
  await rm(directory, { recursive: true, force: true })
  await mkdir(directory, { recursive: true })
  const checkout = await make(deps, order, { directory, left })
  await handOver(checkout.workspace)
  await writeFile(join(directory, READY), '')
  return checkout
}

async function canGoOn(checkout: Checkout, ready: string, left: string | undefined): Promise<boolean> {
  if (!existsSync(ready) || !(await isCheckout(checkout))) return false
  await releaseLocks(checkout)
  return left === undefined || (await has(checkout, left))
}

async function has(checkout: Checkout, commit: string): Promise<boolean> {
  try {
    await commitAt(checkout, commit)
    return true
  } catch (error) {
    if (error instanceof GitError) return false
    throw error
  }
}

interface Making {
  readonly directory: string
  /** The commit that the last run left that left one. */
  readonly left: string | undefined
}

async function make(deps: Deps, { agent, address, credential, signal }: WorkspaceOrder, making: Making) {
  const { directory, left } = making
  const branch = branchOf(agent.id)
  const request = { address, credential, directory, signal, depth: deps.limits.historyDepth } satisfies CloneRequest
  const kept = left === undefined ? undefined : await findArtifact(deps.db, referenceOf(agent), 'bundle')
  if (kept !== undefined) {
    const checkout = await clone(deps.git, { ...request, commit: baseOf(kept.content) })
    await restore(checkout, { bundle: kept.content, branch })
    return checkout
  }
  // What was too large to be kept is where it was pushed to.
  const start = left === undefined ? { branch: agent.base_branch ?? undefined } : { commit: left }
  const checkout = await clone(deps.git, { ...request, ...start })
  await createBranch(checkout, branch)
  return checkout
}

function referenceOf({ account_id: accountId, id: agentId }: Agent): AgentReference {
  return { accountId, agentId }
}

/** The commit that a bundle is on top of, from its head (gitformat-bundle(5)). */
export function baseOf(bundle: Uint8Array): string {
  const head = Buffer.from(bundle.buffer, bundle.byteOffset, Math.min(bundle.length, 4_096)).toString('latin1')
  const base = /^-([0-9a-f]{40})/m.exec(head.split('\n\n', 1)[0] ?? '')?.[1]
  if (base !== undefined) return base
  throw new GitError({ code: 'internal_error', reason: 'failed', detail: 'the bundle is on top of nothing' })
}

async function lastCommit({ db }: Deps, { accountId, agentId }: AgentReference): Promise<string | undefined> {
  const row = await db
    .selectFrom('run')
    .select('commit_id')
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .where('commit_id', 'is not', null)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.commit_id ?? undefined
}
