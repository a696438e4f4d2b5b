/**
 * Runs the commands of one agent: in a workspace, with none of this machine's files but its programs. Output, exit codes
 * and file names are untrusted. Knows commands, and neither models nor git nor jobs.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join, normalize } from 'node:path'
import { type ConfinedRun, runConfined } from './confined.ts'
import {
  type EgressOptions,
  type EgressProxy,
  FORWARDER_PORT,
  forwarderSource,
  openEgressProxy,
  SOCKET_NAME,
} from './egress.ts'
import { type SystemUser, sandboxUser } from './folders.ts'
import { EGRESS_FOLDER, FORWARDER_NODE, forwarderScript, type ReadOnlyPath } from './launch.ts'
import { type Cgroups, MAX_COMMAND_BYTES, SANDBOX_LIMITS, type SandboxLimits } from './limits.ts'
import { createDiskGauge } from './resource-monitor.ts'
import { sandboxFilter } from './seccomp.ts'
import { type CommandResult, supervise } from './supervise.ts'

export interface SandboxOptions {
  /** `none` runs commands without isolation. */
  readonly backend: 'bubblewrap' | 'none'
  /** The one folder that commands may write to, absolute; they know it as `/workspace`. `makeWorkspace` makes it. */
  readonly workspace: string
  /** What else of this machine they may read. */
  readonly readOnly?: readonly ReadOnlyPath[]
  readonly environment?: Readonly<Record<string, string>>
  /** No network at all unless given. */
  readonly network?: EgressOptions
  readonly limits?: Partial<SandboxLimits>
  /** Who commands are on this machine, to whom the workspace belongs; `sandboxUser()` unless given. */
  readonly user?: SystemUser | undefined
  /** Bounds of the kernel, where `openCgroups` found that there may be some. */
  readonly cgroups?: Cgroups | undefined
  /** Where bubblewrap and the system's small programs are looked for, as in `PATH`. */
  readonly searchPath?: string
}

export interface Command {
  /** A program and its arguments, or a script for bash. */
  readonly run: { readonly argv: readonly string[] } | { readonly script: string }
  /** Below the workspace, as a relative path; the workspace itself unless given. */
  readonly cwd?: string
  /** At most `limits.wallMs`, which it is unless given. */
  readonly timeoutMs?: number
  readonly stdin?: string
}

export interface Sandbox {
  readonly backend: 'bubblewrap' | 'none'
  /**
   * Resolves when the command and all that it started are gone, also when it was cancelled by `signal`.
   * @throws RangeError for a command that cannot be run anywhere, SandboxFailedError when the sandbox did not stand.
   */
  readonly run: (command: Command, signal: AbortSignal) => Promise<CommandResult>
  /** Ends what serves the commands outside. Those that run are the caller's to cancel. */
  readonly close: () => Promise<void>
}

const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin'

type CheckedCommand = Pick<ConfinedRun, 'argv' | 'cwd' | 'stdin' | 'timeoutMs'>

export function createSandbox(options: SandboxOptions): Sandbox {
  const limits = { ...SANDBOX_LIMITS, ...options.limits }
  if (!isAbsolute(options.workspace)) throw new RangeError('The path of a workspace is absolute.')
  return options.backend === 'none' ? unconfinedSandbox(options, limits) : confinedSandbox(options, limits)
}

function unconfinedSandbox({ workspace, environment = {} }: SandboxOptions, limits: SandboxLimits): Sandbox {
  return {
    backend: 'none',
    run: async (command, signal) =>
      await runUnconfined({ ...checkCommand(command, limits), workspace, environment, limits }, signal),
    close: async () => undefined,
  }
}

function confinedSandbox(options: SandboxOptions, limits: SandboxLimits): Sandbox {
  const { workspace, cgroups, network, searchPath = USUAL_PATH, user = sandboxUser() } = options
  const watchMemory = cgroups?.controllers.has('memory') !== true
  const isOnline = network !== undefined && network.hosts.length > 0
  const filter = sandboxFilter({ arch: process.arch, unixSockets: isOnline, hiddenMemory: !watchMemory })
  const disk = createDiskGauge(workspace, limits)
  let proxy: Promise<EgressProxy> | undefined
  const surroundings = async (): Promise<Pick<ConfinedRun, 'readOnly' | 'environment' | 'prepare'>> => {
    const { readOnly = [], environment = {} } = options
    if (network === undefined || !isOnline) return { readOnly, environment, prepare: '' }
    proxy ??= openEgressProxy(network, tmpdir(), user)
    const way = networkWay((await proxy).folder)
    return { ...way, readOnly: [...readOnly, ...way.readOnly], environment: { ...way.environment, ...environment } }
  }
  return {
    backend: 'bubblewrap',
    async run(command, signal) {
      const checked = checkCommand(command, limits)
      const around = await surroundings()
      const cgroup = cgroups?.make(randomUUID(), limits)
      const fixed = { workspace, user, filter, limits, disk, watchMemory, searchPath }
      return await runConfined({ ...checked, ...around, ...fixed, cgroup }, signal)
    },
    async close() {
      const open = await proxy?.catch(() => undefined)
      open?.close()
    },
  }
}

/** The variables by which programs find the forwarder, which takes them to the socket in `folder`. */
function networkWay(folder: string): Pick<ConfinedRun, 'readOnly' | 'environment' | 'prepare'> {
  const address = `http://127.0.0.1:${FORWARDER_PORT}`
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy']
  const none = 'localhost,127.0.0.1,::1'
  return {
    readOnly: [
      { from: folder, to: EGRESS_FOLDER },
      { from: process.execPath, to: FORWARDER_NODE },
    ],
    environment: {
      ...Object.fromEntries(names.map((name) => [name, address])),
      NO_PROXY: none,
      no_proxy: none,
      NODE_USE_ENV_PROXY: '1',
    },
    prepare: forwarderScript(forwarderSource(`${EGRESS_FOLDER}/${SOCKET_NAME}`)),
  }
}

function checkCommand({ run, cwd, stdin, timeoutMs }: Command, limits: SandboxLimits): CheckedCommand {
  const argv = 'argv' in run ? run.argv : ['/bin/bash', '-c', run.script]
  const bytes = argv.reduce((sum, argument) => sum + Buffer.byteLength(argument) + 1, 0)
  if (argv.length === 0) throw new RangeError('A command has at least one word.')
  if (bytes > MAX_COMMAND_BYTES) throw new RangeError(`A command has at most ${MAX_COMMAND_BYTES} bytes.`)
  if ([...argv, cwd ?? ''].some((text) => text.includes('\0'))) throw new RangeError('A command has no NUL in it.')
  const folder = cwd === undefined ? undefined : normalize(cwd)
  if (folder !== undefined && (isAbsolute(folder) || folder.split('/').includes('..'))) {
    throw new RangeError('A command begins in the workspace or below it.')
  }
  return { argv, cwd: folder, stdin, timeoutMs: Math.min(timeoutMs ?? limits.wallMs, limits.wallMs) }
}

interface UnconfinedRun {
  readonly argv: readonly string[]
  readonly cwd: string | undefined
  readonly stdin: string | undefined
  readonly timeoutMs: number
  readonly workspace: string
  readonly environment: Readonly<Record<string, string>>
  readonly limits: SandboxLimits
}

const GRACE_MS = 500

async function runUnconfined(run: UnconfinedRun, signal: AbortSignal): Promise<CommandResult> {
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
