/**
 * Removes workspaces of this machine that nobody will need: of agents that were deleted, or that ended a while ago, and of
 * the longest ended when all of them together are too large. A follow-up makes them anew from what the runs left.
 */
import { execFile } from 'node:child_process'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isEnded } from '../../../domain/agent.ts'
import type { AccountId, AgentId } from '../../../domain/ids.ts'
import { type AgentReference, findAgent } from '../store.ts'
import type { WorkerDeps } from './deps.ts'
import { folderOf } from './workspace.ts'

type Deps = Pick<WorkerDeps, 'db' | 'folder' | 'limits' | 'now' | 'log'>

interface Ended {
  readonly reference: AgentReference
  readonly endedAt: number
}

export async function tidyWorkspaces(deps: Deps): Promise<void> {
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
    // It may have been told more in the meantime.
    if ((await endOf(deps, reference)) !== undefined) await remove(deps, reference)
  }
}

/** Unix milliseconds; 0 for one that is there no more, undefined for one that waits or runs. */
async function endOf({ db, now }: Deps, reference: AgentReference): Promise<number | undefined> {
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
    return [] // nothing was made there yet
  }
}

async function remove(deps: Deps, reference: AgentReference): Promise<void> {
  try {
    await rm(folderOf(deps, reference), { recursive: true, force: true })
  } catch (error) {
    deps.log.warn({ err: error, agent: reference.agentId }, 'a workspace could not be removed')
  }
}

/** `du` follows no links. What it may not see does not count. */
async function bytesOf(folder: string): Promise<number> {
  const options = { env: { PATH: '/usr/bin:/bin' } }
  const output = await promisify(execFile)('du', ['-sx', '-B1', '--', folder], options).then(
    ({ stdout }) => stdout,
    (error: { stdout?: string }) => error.stdout ?? '',
  )
  return Number.parseInt(output, 10) || 0
}
