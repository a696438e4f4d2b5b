/** Runs one command under bubblewrap: starts it, limits it, monitors it, and leaves no process behind. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, readFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandResult, KillReason } from '../ports.ts'
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

// Supervises the process of an agent's command until it has ended and its output is closed, with limits on time and output.

/** Its exit code is a shell's: 128 plus the number of the signal that ended the process. */
export interface ProcessResult extends CommandResult {
  readonly signal: NodeJS.Signals | null
}

export interface Supervision {
  readonly limits: SandboxLimits
  readonly timeoutMs: number
  readonly stdin: string | undefined
  readonly signal: AbortSignal
  /** Kills every process of the command. Idempotent. */
  readonly kill: () => void
}

export interface Supervised {
  readonly result: Promise<ProcessResult>
  /** Kills the command. The first reason is the one that is reported. */
  readonly end: (reason: KillReason) => void
}

export function supervise(child: ChildProcess, supervision: Supervision): Supervised {
  const { limits, timeoutMs, signal, kill } = supervision
  const startedAt = performance.now()
  let killed: KillReason | undefined
  const end = (reason: KillReason): void => {
    killed ??= reason
    kill()
  }
  const stdout = captureOutput(limits.outputBytes / 2)
  const stderr = captureOutput(limits.outputBytes / 2)
  for (const [stream, output] of [[child.stdout, stdout] as const, [child.stderr, stderr] as const]) {
    stream?.on('data', (chunk: Buffer) => {
      output.push(chunk)
      if (stdout.totalBytes() + stderr.totalBytes() > limits.outputReadBytes) end('output')
    })
  }
  child.stdin?.on('error', () => undefined) // a command need not read its input
  child.stdin?.end(supervision.stdin)
  const timer = setTimeout(() => end('timeout'), timeoutMs)
  const cancel = (): void => end('cancelled')
  if (signal.aborted) cancel()
  else signal.addEventListener('abort', cancel, { once: true })
  const result = ended(child).then(([code, by]): ProcessResult => {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
    return {
      ...(killed === undefined
        ? { exitCode: code, signal: by ?? signalOf(code) }
        : { exitCode: null, signal: 'SIGKILL' }),
      stdout: stdout.text(),
      stderr: stderr.text(),
      truncated: stdout.isTruncated() || stderr.isTruncated(),
      durationMs: Math.round(performance.now() - startedAt),
      ...(killed === undefined ? {} : { killed }),
    }
  })
  return { result, end }
}

/** Resolves when the process has ended and no other process holds its output. */
async function ended(child: ChildProcess): Promise<readonly [number | null, NodeJS.Signals | null]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly [number | null, NodeJS.Signals | null]>()
  child.once('error', reject)
  child.once('close', (code, signal) => resolve([code, signal]))
  return await promise
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, value]) => [value, name] as const))

function signalOf(code: number | null): NodeJS.Signals | null {
  const name = code === null ? undefined : SIGNALS.get(code - 128)
  return name === undefined ? null : (name as NodeJS.Signals) // the names of `os.constants` are these
}

interface CapturedOutput {
  readonly push: (chunk: Buffer) => void
  /** Bytes written, including omitted ones. */
  readonly totalBytes: () => number
  readonly isTruncated: () => boolean
  /** A line replaces the omitted middle. Invalid UTF-8 is replaced; control characters are unchanged. */
  readonly text: () => string
}

export function captureOutput(maxBytes: number): CapturedOutput {
  const headBytes = Math.ceil(maxBytes / 2)
  const tailBytes = maxBytes - headBytes
  const head = Buffer.alloc(headBytes)
  /** A ring buffer. */
  const tail = Buffer.alloc(tailBytes)
  let total = 0
  const push = (chunk: Buffer): void => {
    const toHead = Math.max(0, Math.min(chunk.length, headBytes - total))
    if (toHead > 0) chunk.copy(head, total, 0, toHead)
    if (tailBytes > 0) {
      const rest = chunk.subarray(Math.max(toHead, chunk.length - tailBytes))
      const at = (Math.max(total + chunk.length - rest.length, headBytes) - headBytes) % tailBytes
      const first = rest.copy(tail, at)
      rest.copy(tail, 0, first)
    }
    total += chunk.length
  }
  const text = (): string => {
    if (total <= headBytes) return head.toString('utf8', 0, total)
    const written = total - headBytes
    const end = written % Math.max(1, tailBytes)
    if (written <= tailBytes) return Buffer.concat([head, tail.subarray(0, written)]).toString('utf8')
    const kept = Buffer.concat([tail.subarray(end), tail.subarray(0, end)])
    return `${head.toString('utf8')}\n[${written - tailBytes} bytes left out]\n${kept.toString('utf8')}`
  }
  return { push, totalBytes: () => total, isTruncated: () => total > maxBytes, text }
}
