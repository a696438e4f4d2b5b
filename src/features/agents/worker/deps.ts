/**
 * The dependencies and limits of a worker, which takes runs from the queue; `run-job.ts` is where reading begins. It knows no
 * gateway: models are called through `modelFor`, with the rights of the run's creator.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import type { JobLog } from '../../../jobs/execution.ts'
import type { GitCredentialRule, GitSettings } from '../../../runner/git/settings.ts'
import type { AskModel, Sandbox } from '../../../runner/ports.ts'
import type { SystemUser } from '../../../runner/sandbox/folders.ts'
import { createSandbox, type SandboxOptions } from '../../../runner/sandbox/sandbox.ts'
import type { BeginDeps } from '../lifecycle.ts'
import type { AgentModels } from '../rules.ts'
import type { Creator, RunReference } from '../store.ts'

/** Selects the model, the credential and the run of model calls. */
export interface ModelOrder extends RunReference {
  readonly model: string
  readonly creator: Creator
}

/** The folder of the commands, and other files of this machine that they can read. */
export interface SandboxPaths {
  readonly workspace: string
  readonly readOnly: readonly { readonly from: string; readonly to: string }[]
  readonly environment: Readonly<Record<string, string>>
  /** User of the commands on this machine; undefined: the user of this process. */
  readonly user: SystemUser | undefined
}

export interface WorkerDeps extends BeginDeps {
  readonly db: Kysely<Database>
  readonly log: JobLog
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** From 0 to 1. */
  readonly random: () => number
  readonly models: () => AgentModels
  readonly modelFor: (order: ModelOrder) => AskModel
  readonly openSandbox: (paths: SandboxPaths) => Sandbox
  readonly git: GitSettings
  readonly repositories: {
    /** Clone address; `{repository}` stands for the name. */
    readonly url: string
    readonly credentials: readonly GitCredentialRule[]
  }
  /** Folder of the workspaces on this machine. */
  readonly folder: string
  readonly limits: RunLimits
  /** Aborted before this process ends: its runs are handed over to another process. */
  readonly leaving: AbortSignal
}

export interface RunLimits {
  /** Maximum duration of a run. */
  readonly wallMs: number
  /** Maximum time without progress. Commands are killed shortly before. */
  readonly stalledMs: number
  /** Interval of the checks whether a run must end. */
  readonly pollMs: number
  /** Delay between attempts while the database is unavailable. */
  readonly tryAgainMs: number
  /** Time for saving the work of a run that was cancelled or handed over, and of one that failed. */
  readonly keepCancelledMs: number
  readonly keepFailedMs: number
  /** Default limit of model calls in a run. */
  readonly maxSteps: number
  /** Depth of the fetched history, in commits. */
  readonly historyDepth: number
  /** Retention of workspaces of ended agents, and their maximum total size. */
  readonly workspaceMs: number
  readonly workspacesBytes: number
}

export const RUN_LIMITS: RunLimits = {
  wallMs: 1_800_000,
  stalledMs: 600_000,
  pollMs: 1_000,
  tryAgainMs: 500,
  keepCancelledMs: 6_000,
  keepFailedMs: 30_000,
  maxSteps: 100,
  historyDepth: 50,
  workspaceMs: 86_400_000,
  workspacesBytes: 20_480 * 1024 * 1024,
}

/** Sandbox options that all agents of this machine share. */
export type SandboxKind = Pick<SandboxOptions, 'backend' | 'network' | 'cgroups'>

/** @param longestMs Maximum duration of a command, so that it does not count as a stalled run. */
export function sandboxOpener(kind: SandboxKind, longestMs: number): (paths: SandboxPaths) => Sandbox {
  return (place) => {
    const sandbox = createSandbox({ ...kind, ...place })
    return {
      run: ({ script, timeoutMs, ...command }, signal) =>
        sandbox.run({ ...command, run: { script }, timeoutMs: Math.min(timeoutMs, longestMs) }, signal),
      close: sandbox.close,
    }
  }
}
