/** CPU time of a process with the children that it has waited for, on Linux; elsewhere of this process alone. */
import { readFileSync } from 'node:fs'

/** Of `/proc`; the same on every architecture that Node.js runs on. */
const TICKS_PER_SECOND = 100
/** Positions after the name of the program: user and system time of the process, then of its children. */
const FIRST_TIME = 11

/** @returns Seconds since the process began; 0 for another process that cannot be measured. */
export function cpuSeconds(pid: number = process.pid): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const times = fields.slice(FIRST_TIME, FIRST_TIME + 4).map(Number)
    return times.reduce((sum, ticks) => sum + ticks, 0) / TICKS_PER_SECOND
  } catch {
    const { user, system } = process.cpuUsage()
    return pid === process.pid ? (user + system) / 1e6 : 0
  }
}

/** Of a test file. */
export interface Cost {
  readonly seconds: number
  /** Of its process and those that it started. The first file of a process has the start of it. */
  readonly cpuSeconds: number
}

/** What the process of test files says of one that has ended. */
export function costLine({ seconds, cpuSeconds }: Cost): string {
  return `took ${seconds} s, CPU ${cpuSeconds} s`
}

export function readCost(line: string): Cost | undefined {
  const [, seconds, cpu] = /^took (\S+) s, CPU (\S+) s$/.exec(line) ?? []
  return cpu === undefined ? undefined : { seconds: Number(seconds), cpuSeconds: Number(cpu) }
}
