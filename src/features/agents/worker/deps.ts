/**
 * What runs agents: it takes a run from the queue, brings the repository here, lets a model work on it in a sandbox, keeps
 * what came of it, and ends the run. `run-job.ts` is where reading begins. It knows no gateway: a model is asked through
 * `modelFor`, with the rights of whoever asked for the run.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import type { JobLog } from '../../../jobs/start.ts'
import type { GitCredentialRule } from '../../../runner/git/credential.ts'
import type { GitSettings } from '../../../runner/git/settings.ts'
import type { AskModel, Sandbox } from '../../../runner/ports.ts'
import type { BeginDeps } from '../begin.ts'
import type { Creator } from '../creator.ts'
import type { AgentModels } from '../rules.ts'
import type { RunReference } from '../store.ts'
import type { RunLimits } from './limits.ts'

/** Who asks which model, and for which run. */
export interface ModelOrder extends RunReference {
  readonly model: string
  readonly creator: Creator
}

/** A folder for commands, and what else of this machine they may read. */
export interface SandboxPlace {
  readonly workspace: string
  readonly readOnly: readonly { readonly from: string; readonly to: string }[]
  readonly environment: Readonly<Record<string, string>>
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
  readonly openSandbox: (place: SandboxPlace) => Sandbox
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
