/** CPU time of processes: on Linux with that of those that they started; elsewhere of this process alone. */
import { readdirSync, readFileSync } from 'node:fs'

/** Of `/proc`; the same on every architecture that Node.js runs on. */
const TICKS_PER_SECOND = 100
/** Positions after the name of the program: the parent, and user and system time of the process, then of its children. */
const PARENT = 1
const FIRST_TIME = 11

interface ProcessTimes {
  readonly parent: number
  /** Of the process and the children that it has waited for, since it began. */
  readonly seconds: number
}

/**
 * Adds up the process, the children that it has waited for, and those that still run, with theirs: of a browser, which
 * outlives the files of its process, nothing is counted otherwise.
 * @returns Seconds since the process began; 0 for another process that cannot be measured.
 */
export function cpuSeconds(pid: number = process.pid): number {
  const times = readTimes()
  if (times.has(pid)) return secondsOfTree(times, pid)
  const { user, system } = process.cpuUsage()
  return pid === process.pid ? (user + system) / 1e6 : 0
}

function secondsOfTree(times: ReadonlyMap<number, ProcessTimes>, pid: number): number {
  const children = [...times].flatMap(([child, { parent }]) => (parent === pid ? [child] : []))
  const own = times.get(pid)?.seconds ?? 0
  return children.reduce((sum, child) => sum + secondsOfTree(times, child), own)
}

/** Of all processes; none where there is no `/proc`. */
function readTimes(): ReadonlyMap<number, ProcessTimes> {
  const times = new Map<number, ProcessTimes>()
  for (const name of readProcessNames()) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      const fields = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number)
      const ticks = fields.slice(FIRST_TIME, FIRST_TIME + 4).reduce((sum, time) => sum + time, 0)
      times.set(Number(name), { parent: fields[PARENT] ?? 0, seconds: ticks / TICKS_PER_SECOND })
    } catch {
      // it has ended meanwhile
    }
  }
  return times
}

function readProcessNames(): readonly string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
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
