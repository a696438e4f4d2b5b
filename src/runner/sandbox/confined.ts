/** Runs one command under bubblewrap: starts it, limits it, monitors it, and leaves no process behind. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, readFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KillReason } from '../ports.ts'
import type { SystemUser } from './folders.ts'
import {
  boundsScript,
  FD,
  folderInside,
  innerShell,
  launch,
  openFolder,
  outerCommand,
  type ReadOnlyPath,
} from './launch.ts'
import type { Cgroup, SandboxLimits } from './limits.ts'
import { type DiskGauge, startWatch } from './resource-monitor.ts'
import { type ProcessResult, supervise } from './supervise.ts'

/** The sandbox could not be set up, so no command ran. */
export class SandboxFailedError extends Error {
  override readonly name = 'SandboxFailedError'
}

export interface ConfinedRun {
  readonly argv: readonly string[]
  readonly cwd: string | undefined
  readonly stdin: string | undefined
  readonly timeoutMs: number
  readonly workspace: string
  /** User of the command on this machine; undefined: the user of this process. */
  readonly user: SystemUser | undefined
  readonly readOnly: readonly ReadOnlyPath[]
  readonly environment: Readonly<Record<string, string>>
  /** Our own shell code, which runs in the sandbox before the command. */
  readonly prepare: string
  readonly filter: Buffer
  readonly limits: SandboxLimits
  readonly disk: DiskGauge
  readonly cgroup: Cgroup | undefined
  readonly watchMemory: boolean
  readonly searchPath: string
}

/** Other processes of the machine come first. */
const NICENESS = 10
const KILL_GRACE_MS = 500
const GONE_TRIES = 100
const GONE_PAUSE_MS = 20

/** The processes of a run. */
interface Life {
  readonly child: ChildProcess
  readonly cgroup: Cgroup | undefined
  /** Process 1 of the sandbox, by its ID on this machine. */
  initPid?: number
}

/** @throws SandboxFailedError if the command did not start, unless it was killed before. */
export async function runConfined(run: ConfinedRun, signal: AbortSignal): Promise<ProcessResult> {
  const { cgroup, limits, timeoutMs, stdin } = run
  try {
    const child = tryToStart(run)
    const life: Life = { child, cgroup }
    const { result, end } = supervise(child, { limits, timeoutMs, stdin, signal, kill: () => killRun(life) })
    const entered = enter(run, life, end).catch((error: unknown) => {
      killRun(life)
      return new SandboxFailedError('The processes of the sandbox cannot be monitored.', { cause: error })
    })
    bound(life)
    const outcome = await result.catch((error: unknown) => {
      throw new SandboxFailedError('The sandbox could not be started.', { cause: error })
    })
    const entry = await entered
    if (typeof entry === 'function') entry()
    await isGone(life)
    return verdict(outcome, entry, cgroup)
  } finally {
    cgroup?.killAll()
    await cgroup?.remove()
  }
}

function tryToStart(run: ConfinedRun): ChildProcess {
  try {
    return start(run)
  } catch (error) {
    throw new SandboxFailedError('The sandbox could not be started.', { cause: error })
  }
}

function start(run: ConfinedRun): ChildProcess {
  const inner = innerShell(
    `${boundsScript(run.limits, run.timeoutMs)}\n${run.prepare}`,
    folderInside(run.cwd),
    run.argv,
  )
  const workspaceFd = openFolder(run.workspace)
  const open = [workspaceFd]
  try {
    const { user } = run
    const built = launch({ ...run, workspaceFd, inner })
    const { handed } = built
    for (const what of handed) if ('fd' in what && what.fd !== workspaceFd) open.push(what.fd)
    const [program, ...args] = outerCommand(built, user)
    const child = spawn(program, args, {
      cwd: '/',
      detached: true, // a process group of its own, which its guard can kill
      env: { PATH: run.searchPath },
      stdio: [
        run.stdin === undefined ? 'ignore' : 'pipe',
        ...Array<'pipe'>(FD.first - 1).fill('pipe'),
        ...handed.map((what) => ('fd' in what ? what.fd : ('pipe' as const))),
      ],
    })
    for (const stream of child.stdio) stream?.on('error', () => undefined) // its end is reported separately
    // If a signal ended it, its process 1 may still be starting: the guard then kills the whole group.
    child.once('exit', (code) => writable(child, FD.life).end(code === null ? undefined : 'ended\n'))
    handed.forEach((what, index) => {
      if ('data' in what) writable(child, FD.first + index).end(what.data)
    })
    return child
  } finally {
    for (const fd of open) closeSync(fd)
  }
}

/** Called before it starts any process: processes inherit priority and cgroup. */
function bound({ child, cgroup }: Life): void {
  if (child.pid === undefined) return
  try {
    setPriority(child.pid, NICENESS)
    cgroup?.join(child.pid)
  } catch (error) {
    child.kill('SIGKILL')
    if (cgroup !== undefined) throw error
  }
  writable(child, FD.go).write('\n')
}

/** @returns Ends the watch; undefined if the sandbox could not be set up. */
async function enter(
  run: ConfinedRun,
  life: Life,
  end: (reason: KillReason) => void,
): Promise<(() => void) | undefined> {
  const { child } = life
  const ready = firstData(readable(child, FD.status))
  const pid = /"child-pid": (\d+)/.exec((await firstData(readable(child, FD.info))) ?? '')?.[1]
  if (pid === undefined) return undefined
  life.initPid = Number(pid)
  if ((await ready) === undefined) return undefined
  const { limits, disk, watchMemory } = run
  const stop = await startWatch({ initPid: life.initPid, limits, disk, watchMemory }, end)
  // From here on it dies with bubblewrap. If bubblewrap is gone already, the closed pipe ends it.
  if (isChildOf(life.initPid, child.pid)) writable(child, FD.go).write('\n')
  else writable(child, FD.go).destroy()
  return stop
}

/** @returns undefined at the end of the stream. */
async function firstData(stream: Readable): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  stream.once('data', (chunk: Buffer) => resolve(chunk.toString()))
  stream.once('close', () => resolve(undefined))
  return await promise
}

function verdict(
  outcome: ProcessResult,
  entry: (() => void) | undefined | SandboxFailedError,
  cgroup: Cgroup | undefined,
): ProcessResult {
  // A sandbox that was killed during its setup cannot be monitored either.
  if (outcome.killed !== undefined) return outcome
  if (entry instanceof SandboxFailedError) throw entry
  if (cgroup?.ranOutOfMemory()) return { ...outcome, exitCode: null, signal: 'SIGKILL', killed: 'memory' }
  if (entry !== undefined) return outcome
  throw new SandboxFailedError(outcome.stderr.trim() || 'The sandbox ended before the command started.')
}

/**
 * Kills process 1 first: bubblewrap then reaps it, which leaves no zombie to a service that is process 1 of a container and
 * reaps none. If that does not suffice, kills bubblewrap, which ends all others as well.
 */
function killRun({ child, initPid, cgroup }: Life): void {
  writable(child, FD.go).destroy() // shells that wait for permission to start get none
  if (child.exitCode !== null || child.signalCode !== null) return
  cgroup?.killAll()
  if (initPid === undefined || !isChildOf(initPid, child.pid) || !killOne(initPid)) {
    child.kill('SIGKILL')
    return
  }
  setTimeout(() => child.kill('SIGKILL'), KILL_GRACE_MS).unref()
}

/** False if it has just ended. */
function killOne(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}

function isChildOf(pid: number, parent: number | undefined): boolean {
  try {
    return /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] === String(parent)
  } catch {
    return false
  }
}

/** Process 1 ends after all others. */
async function isGone({ initPid }: Life): Promise<void> {
  if (initPid === undefined) return
  for (let tries = 0; tries < GONE_TRIES && isAlive(initPid); tries++) await sleep(GONE_PAUSE_MS)
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

function writable(child: ChildProcess, fd: number): Writable {
  return child.stdio[fd] as Writable // Node makes every pipe duplex
}

function readable(child: ChildProcess, fd: number): Readable {
  return child.stdio[fd] as Readable // as above
}
