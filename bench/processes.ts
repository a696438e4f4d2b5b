/** Starts processes of the bench, and reads their CPU time and memory from the kernel. */
import { fork, spawn } from 'node:child_process'
import { closeSync, fsyncSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const READY_POLL_MS = 20
const READY_WITHIN_MS = 120_000
/** Characters of the log of a server that does not start. */
const LOGGED_REASON = 500

export interface BenchProcess {
  readonly pid: number
  readonly port: number
  stop(): void
}

/** Starts a script of this folder, which reports its port. */
export function start(script: string, ...args: string[]): Promise<BenchProcess> {
  const child = fork(join(import.meta.dirname, script), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code}`)))
    child.once('message', (port) => {
      resolve({ pid: child.pid ?? 0, port: Number(port), stop: () => child.kill('SIGKILL') })
    })
  })
}

export interface ServerCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly port: number
  /** Any answer there counts as ready. */
  readonly readyPath: string
  readonly env?: Readonly<Record<string, string>>
  readonly logFile: string
}

/** Starts a server in a process group of its own. Rejects if it does not answer within two minutes. */
export async function startServer(server: ServerCommand): Promise<BenchProcess> {
  const { command, args, port, readyPath, env, logFile } = server
  const log = openSync(logFile, 'a')
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', log, log], detached: true })
  closeSync(log)
  let failed: Error | undefined
  child.once('error', (error) => {
    failed = error
  })
  const stop = (): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    process.kill(-child.pid, 'SIGKILL')
  }
  process.once('exit', stop)
  for (
    const until = performance.now() + READY_WITHIN_MS;
    !(await answers(port, readyPath));
    await sleep(READY_POLL_MS)
  ) {
    if (failed === undefined && child.exitCode === null && performance.now() < until) continue
    stop()
    const reason = failed?.message ?? readFileSync(logFile, 'utf8').trimEnd().slice(-LOGGED_REASON)
    throw new Error(`${command} does not answer on port ${port}: ${reason}`)
  }
  return { pid: child.pid ?? 0, port, stop }
}

function answers(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume()
      resolve(true)
    })
    request.on('error', () => resolve(false))
  })
}

/** Linux counts hundredths of a second on every architecture that Node.js supports. */
const TICK_US = 10_000

/** Microseconds of CPU of a process and its descendants since their start, with children that have ended. */
export function cpuMicroseconds(root: number): number {
  return treeOf(root).reduce((sum, { ticks }) => sum + ticks * TICK_US, 0)
}

/** Resident memory of a process and its descendants; pages that they share count once for each. */
export function residentKib(root: number): number {
  return treeOf(root).reduce((sum, { pid }) => sum + residentKibOf(pid), 0)
}

function residentKibOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN)
}

interface ProcessStat {
  readonly pid: number
  readonly parent: number
  /** CPU time of the process, and of the children that it has waited for. */
  readonly ticks: number
}

function treeOf(root: number): readonly ProcessStat[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? statOf(Number(name)) : []))
  const tree = all.filter(({ pid }) => pid === root)
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid)) // grows as it is read
  if (tree.length === 0) throw new Error(`Process ${root} has ended.`)
  return tree
}

/** Empty if the process has ended. */
function statOf(pid: number): readonly ProcessStat[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0)
    return [{ pid, parent: Number(fields[1]), ticks }]
  } catch {
    return []
  }
}

/** The p99 of writing 4 KiB and waiting until the disk has it, milliseconds. */
export function fsyncP99Ms(rounds = 300): number {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-fsync-'))
  const file = openSync(join(folder, 'file'), 'w')
  const page = Buffer.alloc(4096)
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now()
    writeSync(file, page)
    fsyncSync(file)
    times.push(performance.now() - startedAt)
  }
  closeSync(file)
  rmSync(folder, { recursive: true })
  return percentile(times, 99)
}

/** Returns a percentile of an unsorted list; NaN if it is empty. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
}
