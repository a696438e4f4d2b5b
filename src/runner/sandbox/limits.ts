/**
 * Resource limits of an agent's command, and their enforcement for all of its processes together by the kernel (cgroup v2),
 * if this service can create groups below its own, which systemd delegates with `Delegate=yes`. `resource-monitor.ts`
 * enforces the limits that cgroups do not.
 */
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface SandboxLimits {
  /** Concurrent processes and threads. */
  readonly processes: number
  /** Memory of all processes together, including the sandbox's in-memory file systems. */
  readonly memoryBytes: number
  readonly cpus: number
  readonly openFiles: number
  /** Size of the workspace, and of any single file. */
  readonly workspaceBytes: number
  readonly workspaceFiles: number
  /** Size of `/tmp` and of the home directory, each; they are empty at the start of a command. */
  readonly scratchBytes: number
  readonly scratchFiles: number
  /** Kept part of standard output and standard error together. */
  readonly outputBytes: number
  /** Output at which the command is killed. */
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

/** Maximum size of a command's script or arguments; the kernel allows 128 KiB in one argument. */
export const MAX_COMMAND_BYTES = 96 * 1024

export interface Cgroups {
  /** Enabled controllers of the kernel. */
  readonly controllers: ReadonlySet<string>
  /** @param name A file name. */
  readonly make: (name: string, limits: SandboxLimits) => Cgroup
}

export interface Cgroup {
  readonly join: (pid: number) => void
  readonly killAll: () => void
  /** Whether the kernel killed a process of it for lack of memory. */
  readonly ranOutOfMemory: () => boolean
  /** Resolves when it is removed, or after the last attempt. */
  readonly remove: () => Promise<void>
}

const WANTED = ['memory', 'pids', 'cpu']
const RUNS = 'turnpike-runs'
const SERVICE = 'turnpike-service'
const CPU_PERIOD_US = 100_000
const REMOVE_TRIES = 50
const REMOVE_PAUSE_MS = 20

/**
 * @param own Group of this process; detected by default.
 * @returns undefined if no groups can be created, as in most containers.
 */
export function openCgroups(own: string | undefined = ownCgroup()): Cgroups | undefined {
  if (own === undefined) return undefined
  const runs = join(own, RUNS)
  try {
    accessSync(join(own, 'cgroup.subtree_control'), constants.W_OK)
    mkdirSync(runs, { recursive: true })
    removeLeftovers(runs)
    enable(own)
    enable(runs)
    const controllers = new Set(words(join(runs, 'cgroup.subtree_control')))
    return { controllers, make: (name, limits) => makeCgroup(join(runs, name), limits, controllers) }
  } catch {
    return undefined
  }
}

/** Returns the path of this process's group in the cgroup v2 hierarchy. */
function ownCgroup(): string | undefined {
  try {
    const mount = / (\/\S*) \S+(?: \S+)* - cgroup2 /.exec(readFileSync('/proc/self/mountinfo', 'utf8'))?.[1]
    const path = /^0::(\/.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]
    return mount === undefined || path === undefined ? undefined : join(mount, path)
  } catch {
    return undefined
  }
}

function words(file: string): string[] {
  return readFileSync(file, 'utf8').split(/\s+/).filter(Boolean)
}

/** Removes groups of runs whose service was killed. Groups in use cannot be removed. */
function removeLeftovers(runs: string): void {
  for (const entry of readdirSync(runs, { withFileTypes: true })) {
    if (entry.isDirectory()) tryTo(() => rmdirSync(join(runs, entry.name)))
  }
}

/** Enables controllers for child groups. A group that does must not contain processes: this process moves to a child group. */
function enable(group: string): void {
  const wanted = words(join(group, 'cgroup.controllers')).filter((name) => WANTED.includes(name))
  if (wanted.length === 0) return
  const give = (): void =>
    writeFileSync(join(group, 'cgroup.subtree_control'), wanted.map((name) => `+${name}`).join(' '))
  if (tryTo(give)) return
  const members = words(join(group, 'cgroup.procs'))
  if (members.length !== 1 || members[0] !== String(process.pid)) return
  mkdirSync(join(group, SERVICE), { recursive: true })
  writeFileSync(join(group, SERVICE, 'cgroup.procs'), String(process.pid))
  tryTo(give)
}

function tryTo(action: () => void): boolean {
  try {
    action()
    return true
  } catch {
    return false
  }
}

function makeCgroup(path: string, limits: SandboxLimits, controllers: ReadonlySet<string>): Cgroup {
  mkdirSync(path)
  const write = (file: string, value: string | number): void => writeFileSync(join(path, file), String(value))
  if (controllers.has('memory')) {
    write('memory.max', limits.memoryBytes)
    tryTo(() => write('memory.swap.max', 0)) // a kernel without swap has no such file
    write('memory.oom.group', 1)
  }
  // Includes the processes that start the command and forward its output.
  if (controllers.has('pids')) write('pids.max', limits.processes + 8)
  if (controllers.has('cpu')) write('cpu.max', `${limits.cpus * CPU_PERIOD_US} ${CPU_PERIOD_US}`)
  return {
    join: (pid) => write('cgroup.procs', pid),
    killAll: () => tryTo(() => write('cgroup.kill', 1)),
    ranOutOfMemory: () =>
      controllers.has('memory') && /^oom_kill [1-9]/m.test(readFileSync(join(path, 'memory.events'), 'utf8')),
    async remove() {
      for (let tries = 0; tries < REMOVE_TRIES && !tryTo(() => rmdirSync(path)); tries++) await sleep(REMOVE_PAUSE_MS)
    },
  }
}
