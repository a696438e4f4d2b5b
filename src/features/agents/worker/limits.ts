/** How long a run may take for what. All of it is in docs/limits.md; tests give their own. */

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
