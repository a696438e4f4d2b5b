/**
 * Runs one command as a plain process of this machine, for operators who say `backend: none`: with a clean environment
 * and bounds on time and output, and nothing else. It reads and writes whatever the service may, and what it leaves
 * running in a session of its own stays.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxLimits } from './limits.ts'
import { type CommandResult, supervise } from './supervise.ts'

export interface UnconfinedRun {
  readonly argv: readonly string[]
  readonly cwd: string | undefined
  readonly stdin: string | undefined
  readonly timeoutMs: number
  readonly workspace: string
  readonly environment: Readonly<Record<string, string>>
  readonly limits: SandboxLimits
}

const GRACE_MS = 500

export async function runUnconfined(run: UnconfinedRun, signal: AbortSignal): Promise<CommandResult> {
  const { argv, limits, timeoutMs, stdin } = run
  const [program = '', ...args] = argv
  const home = realpathSync(run.workspace)
  const child = spawn(program, args, {
    cwd: join(home, run.cwd ?? ''),
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: home, LANG: 'C.UTF-8', TERM: 'dumb', ...run.environment },
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    detached: true,
  })
  const kill = (): void => killGroup(child)
  child.once('exit', () => {
    kill()
    // A process that left the group may hold the output open for ever.
    setTimeout(() => closeOutput(child), GRACE_MS).unref()
  })
  return await supervise(child, { limits, timeoutMs, stdin, signal, kill }).result
}

function closeOutput({ stdout, stderr }: ChildProcess): void {
  stdout?.destroy()
  stderr?.destroy()
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nobody is left in it.
  }
}
