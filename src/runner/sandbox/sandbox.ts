/**
 * Runs the commands of one agent in a workspace, with no files of this machine except its programs. Output, exit codes and
 * file names are untrusted. Knows neither models nor git nor jobs.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join, normalize } from 'node:path'
import { type ConfinedRun, type ProcessResult, runConfined, supervise } from './confined.ts'
import { type EgressOptions, type EgressProxy, FORWARDER_PORT, forwarderTo, openEgressProxy } from './egress.ts'
import { type SystemUser, sandboxUser } from './folders.ts'
import type { ReadOnlyPath } from './launch.ts'
import { type Cgroups, MAX_COMMAND_BYTES, SANDBOX_LIMITS, type SandboxLimits } from './limits.ts'
import { createDiskGauge } from './resource-monitor.ts'
import { sandboxFilter } from './seccomp.ts'

export interface SandboxOptions {
  /** `none` runs commands without isolation. */
  readonly backend: 'bubblewrap' | 'none'
  /** The only folder that commands can write to; absolute. In the sandbox it is `/workspace`. `makeWorkspace` creates it. */
  readonly workspace: string
  /** Other files of this machine that they can read. */
  readonly readOnly?: readonly ReadOnlyPath[]
  readonly environment?: Readonly<Record<string, string>>
  /** Default: no network. */
  readonly network?: EgressOptions
  readonly limits?: Partial<SandboxLimits>
  /** User of the commands on this machine, who owns the workspace. Default: `sandboxUser()`. */
  readonly user?: SystemUser | undefined
  /** Limits of the kernel, if `openCgroups` can create groups. */
  readonly cgroups?: Cgroups | undefined
  /** Search path for bubblewrap and system programs, as in `PATH`. */
  readonly searchPath?: string
}

export interface Command {
  /** A program and its arguments, or a script for bash. */
  readonly run: { readonly argv: readonly string[] } | { readonly script: string }
  /** Relative path below the workspace. Default: the workspace. */
  readonly cwd?: string | undefined
  /** At most `limits.wallMs`, the default. */
  readonly timeoutMs?: number
  readonly stdin?: string | undefined
}

export interface Sandbox {
  readonly backend: 'bubblewrap' | 'none'
  /**
   * Resolves when the command and all processes that it started are gone, also after `signal` cancelled it.
   * @throws RangeError for an invalid command, SandboxFailedError if the sandbox could not be set up.
   */
  readonly run: (command: Command, signal: AbortSignal) => Promise<ProcessResult>
  /** Ends the proxy of the commands. The caller cancels running commands. */
  readonly close: () => Promise<void>
}

const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin'

type CheckedCommand = Pick<ConfinedRun, 'argv' | 'cwd' | 'stdin' | 'timeoutMs'>

export function createSandbox(options: SandboxOptions): Sandbox {
  const limits = { ...SANDBOX_LIMITS, ...options.limits }
  if (!isAbsolute(options.workspace)) throw new RangeError('The path of a workspace must be absolute.')
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
    const access = networkAccess((await proxy).folder)
    return {
      ...access,
      readOnly: [...readOnly, ...access.readOnly],
      environment: { ...access.environment, ...environment },
    }
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

/** Configures the forwarder, which connects programs to the socket in `folder`, and the variables that name it. */
function networkAccess(folder: string): Pick<ConfinedRun, 'readOnly' | 'environment' | 'prepare'> {
  const address = `http://127.0.0.1:${FORWARDER_PORT}`
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy']
  const none = 'localhost,127.0.0.1,::1'
  return {
    ...forwarderTo(folder),
    environment: {
      ...Object.fromEntries(names.map((name) => [name, address])),
      NO_PROXY: none,
      no_proxy: none,
      NODE_USE_ENV_PROXY: '1',
    },
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

interface UnconfinedRun extends CheckedCommand, Pick<ConfinedRun, 'workspace' | 'environment' | 'limits'> {}

const GRACE_MS = 500

async function runUnconfined(run: UnconfinedRun, signal: AbortSignal): Promise<ProcessResult> {
  const { argv, limits, timeoutMs, stdin } = run
  const [program = '', ...args] = argv
  const home = realpathSync(run.workspace)
  const child = spawn(program, args, {
    cwd: join(home, run.cwd ?? ''),
    env: { PATH: USUAL_PATH, HOME: home, LANG: 'C.UTF-8', TERM: 'dumb', ...run.environment },
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    detached: true,
  })
  const kill = (): void => killGroup(child)
  child.once('exit', () => {
    kill()
    // A process that left the group may keep the output open.
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
    // The group has ended.
  }
}
