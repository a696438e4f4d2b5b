/**
 * Workspaces of agents on this machine, `<folder>/<account>/<agent>`. A follow-up continues in one; where it is missing, older
 * than the last run or incomplete, it is created again from the repository and the last run's bundle. Workspaces of agents
 * that were deleted or ended long ago are removed, as are the oldest beyond the size limit.
 */
import { existsSync, lstatSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { branchOf, isEnded } from '../../../domain/agent.ts'
import type { AccountId, AgentId } from '../../../domain/ids.ts'
import type { RepositoryAddress } from '../../../runner/git/address.ts'
import { restore } from '../../../runner/git/artifacts.ts'
import {
  type Checkout,
  checkoutAt,
  commitAt,
  createBranch,
  isCheckout,
  releaseLocks,
} from '../../../runner/git/checkout.ts'
import { GitError } from '../../../runner/git/error.ts'
import { type CloneRequest, clone } from '../../../runner/git/remote.ts'
import type { GitCredential } from '../../../runner/git/settings.ts'
import { makePrivateFolder, removeTree, sandboxUser, treeUse } from '../../../runner/sandbox/folders.ts'
import { findArtifact } from '../run.ts'
import { type Agent, type AgentReference, findAgent } from '../store.ts'
import type { WorkerDeps } from './deps.ts'

/** Marks a complete workspace. Workspaces with the previous name may contain files with set-id bits. */
const READY = 'ready.2'

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

/** Opens a workspace on the agent's branch. @throws GitError */
export async function openWorkspace(deps: Deps, order: WorkspaceOrder): Promise<Checkout> {
  const { agent, signal } = order
  const reference = { accountId: agent.account_id, agentId: agent.id }
  const directory = folderOf(deps, reference)
  const settings = { ...deps.git, user: deps.git.confine ? sandboxUser(agent.account_id) : undefined }
  const there = checkoutAt(settings, directory, signal)
  const left = await lastCommit(deps, reference)
  if (await canGoOn(there, join(directory, READY), left)) return there
  await removeTree(directory)
  for (const folder of [deps.folder, join(deps.folder, agent.account_id), directory]) makePrivateFolder(folder)
  const checkout = await make({ ...deps, git: settings }, order, { directory, left })
  await writeFile(join(directory, READY), '')
  return checkout
}

async function canGoOn(checkout: Checkout, ready: string, left: string | undefined): Promise<boolean> {
  if (!existsSync(ready) || !isOwn(checkout) || !(await isCheckout(checkout))) return false
  await releaseLocks(checkout)
  return left === undefined || (await has(checkout, left))
}

/** Whether the current user owns the workspace; after a change of users it is created again. */
function isOwn({ workspace, gitDirectory, settings: { user } }: Checkout): boolean {
  const owners = [workspace, gitDirectory].map((path) => lstatSync(path, { throwIfNoEntry: false })?.uid)
  return owners.every((uid) => uid === (user?.uid ?? process.getuid?.()))
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
  /** The commit of the last run that made one. */
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
  // A commit that was too large to store is on the server that it was pushed to.
  const start = left === undefined ? { branch: agent.base_branch ?? undefined } : { commit: left }
  const checkout = await clone(deps.git, { ...request, ...start })
  await createBranch(checkout, branch)
  return checkout
}

function referenceOf({ account_id: accountId, id: agentId }: Agent): AgentReference {
  return { accountId, agentId }
}

/** Returns the base commit of a bundle, from its header (gitformat-bundle(5)). */
function baseOf(bundle: Uint8Array): string {
  const head = Buffer.from(bundle.buffer, bundle.byteOffset, Math.min(bundle.length, 4_096)).toString('latin1')
  const base = /^-([0-9a-f]{40})/m.exec(head.split('\n\n', 1)[0] ?? '')?.[1]
  if (base !== undefined) return base
  throw new GitError({ code: 'internal_error', reason: 'failed', detail: 'the bundle has no base commit' })
}

async function lastCommit({ db }: Deps, { accountId, agentId }: AgentReference): Promise<string | undefined> {
  const row = await db
    .selectFrom('run')
    .select('commit_id')
    .where(({ and }) => and({ account_id: accountId, agent_id: agentId }))
    .where('commit_id', 'is not', null)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.commit_id ?? undefined
}

type CleanupDeps = Pick<WorkerDeps, 'db' | 'folder' | 'limits' | 'now' | 'log'>

interface Ended {
  readonly reference: AgentReference
  readonly endedAt: number
}

export async function tidyWorkspaces(deps: CleanupDeps): Promise<void> {
  const { now, limits, folder } = deps
  const ended: Ended[] = []
  for (const reference of await workspacesIn(folder)) {
    const endedAt = await endOf(deps, reference)
    if (endedAt === undefined) continue
    if (now() - endedAt >= limits.workspaceMs) await remove(deps, reference)
    else ended.push({ reference, endedAt })
  }
  ended.sort((one, other) => one.endedAt - other.endedAt)
  let excess = (await bytesOf(folder)) - limits.workspacesBytes
  for (const { reference } of ended) {
    if (excess <= 0) return
    excess -= await bytesOf(folderOf(deps, reference))
    // A follow-up may have started another run in the meantime.
    if ((await endOf(deps, reference)) !== undefined) await remove(deps, reference)
  }
}

/** Unix milliseconds; 0 for a deleted agent, undefined for a queued or running one. */
async function endOf({ db, now }: CleanupDeps, reference: AgentReference): Promise<number | undefined> {
  const agent = await findAgent(db, reference)
  if (agent === undefined) return 0
  return isEnded(agent.status) ? (agent.ended_at ?? now()) : undefined
}

async function workspacesIn(folder: string): Promise<readonly AgentReference[]> {
  const found: AgentReference[] = []
  for (const accountId of await foldersIn(folder)) {
    for (const agentId of await foldersIn(join(folder, accountId))) {
      found.push({ accountId: accountId as AccountId, agentId: agentId as AgentId }) // made by `folderOf`
    }
  }
  return found
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  } catch {
    return [] // the folder does not exist yet
  }
}

async function remove(deps: CleanupDeps, reference: AgentReference): Promise<void> {
  try {
    await removeTree(folderOf(deps, reference))
  } catch (error) {
    deps.log.warn({ err: error, agent: reference.agentId }, 'a workspace could not be removed')
  }
}

/** 0 if the folder does not exist or cannot be measured in time, so that nothing is removed because of it. */
async function bytesOf(folder: string): Promise<number> {
  const bytes = existsSync(folder) ? await treeUse(folder, '-B1') : 0
  return Number.isFinite(bytes) ? bytes : 0
}
