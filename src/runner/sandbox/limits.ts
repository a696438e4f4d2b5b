/** What one command of an agent may use. */

export interface SandboxLimits {
  /** Processes and threads at a time. */
  readonly processes: number
  /** Of all processes together, with what is in the sandbox's own file systems in memory. */
  readonly memoryBytes: number
  readonly cpus: number
  readonly openFiles: number
  /** Of the workspace as a whole, and of any one file. */
  readonly workspaceBytes: number
  readonly workspaceFiles: number
  /** Of each of `/tmp` and the home; they begin empty with each command. */
  readonly scratchBytes: number
  readonly scratchFiles: number
  /** What is kept of standard output and standard error together. */
  readonly outputBytes: number
  /** What they may write before the command is ended. */
  readonly outputReadBytes: number
  readonly wallMs: number
}

export const SANDBOX_LIMITS: SandboxLimits = {
  processes: 256,
  memoryBytes: 2048 * 1024 * 1024,
  cpus: 2,
  openFiles: 1024,
  workspaceBytes: 2048 * 1024 * 1024,
  workspaceFiles: 400_000,
  scratchBytes: 512 * 1024 * 1024,
  scratchFiles: 100_000,
  outputBytes: 1024 * 1024,
  outputReadBytes: 64 * 1024 * 1024,
  wallMs: 1_800_000,
}

/** Of the script or the arguments of a command; the kernel takes 128 KiB in one argument. */
export const MAX_COMMAND_BYTES = 96 * 1024
