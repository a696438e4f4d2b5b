/** Starts processes of the bench, and reads their CPU time and memory from the kernel. */
import { fork } from 'node:child_process'
import { closeSync, fsyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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

/** Linux counts hundredths of a second on every architecture that Node.js supports. */
const TICK_US = 10_000

/** Microseconds of CPU of all threads of a process since its start. */
export function cpuMicroseconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_US
}

export function residentKib(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN)
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
