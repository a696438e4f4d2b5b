/** What is left of a run: a commit on its branch, what it changed, and the branch itself for whoever goes on with it. */
import { branchOf } from '../../../domain/agent.ts'
import { bundle } from '../../../runner/git/bundle.ts'
import { BASE, type Checkout, commitAt } from '../../../runner/git/checkout.ts'
import { commitAll } from '../../../runner/git/commit.ts'
import { changedFiles, diff } from '../../../runner/git/diff.ts'
import { GitError } from '../../../runner/git/error.ts'
import { type RunClaim, saveArtifact } from '../progress.ts'
import type { Agent } from '../store.ts'
import type { WorkerDeps } from './deps.ts'
import type { Notes } from './notes.ts'

const AUTHOR = { name: 'Turnpike', email: 'agents@turnpike.invalid' }

export interface Keeping {
  readonly agent: Agent
  readonly claim: RunClaim
  readonly checkout: Checkout
  readonly notes: Pick<Notes, 'write'>
  /** What the model says it has done; undefined: it did not come to that. */
  readonly summary: string | undefined
}

/** @returns The commit that the branch is at; undefined: nothing has changed since the work began. @throws GitError */
export async function keepWork(
  { db, now }: Pick<WorkerDeps, 'db' | 'now'>,
  keeping: Keeping,
): Promise<string | undefined> {
  const { agent, claim, checkout, notes } = keeping
  await commitAll(checkout, { message: messageOf(keeping), author: AUTHOR, at: now() })
  const commit = await commitAt(checkout, 'HEAD')
  if (commit === (await commitAt(checkout, BASE))) return undefined
  const { text, isTruncated } = await diff(checkout, { base: BASE })
  const { files } = await changedFiles(checkout, { base: BASE })
  const branch = await bundleOf(checkout, branchOf(agent.id))
  const changes = { kind: 'diff' as const, content: Buffer.from(text), isTruncated }
  await saveArtifact(db, claim, { artifact: changes, now: now() })
  if (branch !== undefined) {
    const artifact = { kind: 'bundle' as const, content: branch, isTruncated: false }
    await saveArtifact(db, claim, { artifact, now: now() })
  }
  const lines = (name: 'insertions' | 'deletions') => files.reduce((sum, file) => sum + (file[name] ?? 0), 0)
  const data = { files: files.length, insertions: lines('insertions'), deletions: lines('deletions') }
  await notes.write({ events: [{ type: 'diff', data }] })
  return commit
}

async function bundleOf(checkout: Checkout, branch: string): Promise<Buffer | undefined> {
  try {
    return await bundle(checkout, branch)
  } catch (error) {
    if (error instanceof GitError && error.reason === 'bundle_too_large') return undefined
    throw error
  }
}

function messageOf({ agent, claim, summary }: Keeping): string {
  const what = summary ?? 'Unfinished: the run was broken off here.'
  return `${agent.name}\n\n${what}\n\nTurnpike-Agent: ${agent.id}\nTurnpike-Run: ${claim.runId}`
}
