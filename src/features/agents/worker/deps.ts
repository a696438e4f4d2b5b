/**
 * The dependencies and limits of a worker, which takes runs from the queue; `run-job.ts` is where reading begins. It knows no
 * gateway: models are called through `modelFor`, with the rights of the run's creator.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import type { JobLog } from '../../../jobs/execution.ts'
import type { GitCredentialRule, GitSettings } from '../../../runner/git/settings.ts'
import type { AskModel, CommandResult, Sandbox } from '../../../runner/ports.ts'
import type { SystemUser } from '../../../runner/sandbox/folders.ts'
import { createSandbox, type SandboxOptions } from '../../../runner/sandbox/sandbox.ts'
import type { CommandResult as ConfinedResult, EndReason } from '../../../runner/sandbox/supervise.ts'
import type { BeginDeps } from '../lifecycle.ts'
import type { AgentModels } from '../rules.ts'
import type { Creator, RunReference } from '../store.ts'

/** Who asks which model, and for which run. */
export interface ModelOrder extends RunReference {
  readonly model: string
  readonly creator: Creator
}

/** A folder for commands, and what else of this machine they may read. */
export interface SandboxPaths {
  readonly workspace: string
  readonly readOnly: readonly { readonly from: string; readonly to: string }[]
  readonly environment: Readonly<Record<string, string>>
  /** Who its commands are on this machine; the user of this process, unless given. */
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
  /** Where the workspaces of this machine are. */
  readonly folder: string
  readonly limits: RunLimits
  /** Aborted when this process is about to end: what runs is handed over. */
  readonly leaving: AbortSignal
}

export interface RunLimits {
  /** Of a run, from its start. */
  readonly wallMs: number
  /** Without any progress. A command that takes longer than nearly all of it is ended. */
  readonly stalledMs: number
  /** How often it is looked whether a run is to end. */
  readonly pollMs: number
  /** While the database is away. */
  readonly tryAgainMs: number
  /** For keeping the work of a run that is cancelled or handed over, and of one that failed. */
  readonly keepCancelledMs: number
  readonly keepFailedMs: number
  /** Answers of the model, unless the run has a limit of its own. */
  readonly maxSteps: number
  /** Commits of history that are fetched. */
  readonly historyDepth: number
  /** Workspaces of agents that have ended: how long they stay, and how large all of them may be. */
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

/** What is the same for all agents of this machine. */
export type SandboxKind = Pick<SandboxOptions, 'backend' | 'network' | 'cgroups'>

/** @param longestMs Of a command: one that takes longer would look like a standstill. */
export function sandboxOpener(kind: SandboxKind, longestMs: number): (paths: SandboxPaths) => Sandbox {
  return (place) => {
    const sandbox = createSandbox({ ...kind, ...place })
    return {
      async run({ script, cwd, stdin, timeoutMs }, signal) {
        const given = {
          ...(cwd === undefined ? {} : { cwd }),
          ...(stdin === undefined ? {} : { stdin: typeof stdin === 'string' ? stdin : Buffer.from(stdin).toString() }),
        }
        const command = { run: { script }, timeoutMs: Math.min(timeoutMs, longestMs), ...given }
        return resultOf(await sandbox.run(command, signal))
      },
      close: sandbox.close,
    }
  }
}

const KILLED: Readonly<Record<EndReason, NonNullable<CommandResult['killed']>>> = {
  timeout: 'timeout',
  output: 'output',
  memory: 'memory',
  disk: 'workspace',
  cancelled: 'cancelled',
}

function resultOf({ exitCode, stdout, stderr, truncated, durationMs, reason }: ConfinedResult): CommandResult {
  const result = { exitCode, stdout, stderr, truncated, durationMs }
  return reason === undefined ? result : { ...result, exitCode: null, killed: KILLED[reason] }
}
