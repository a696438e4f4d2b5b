/**
 * A machine that stands still now and then: processes below this one are stopped for up to a second and go on, a few at a
 * time, as on a crowded host. What fails then leans on time or on an order that nobody promised. Linux only.
 */
import { readdirSync, readFileSync } from 'node:fs'

const EACH_MS = 120
const LONGEST_MS = 1_000
/** Of all processes, stopped at once at most. */
const AT_ONCE = 4
const STOPPED = 'T'

interface ProcessStat {
  readonly pid: number
  readonly parent: number
  readonly state: string
}

function statOf(name: string): ProcessStat | undefined {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
    const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { pid: Number(name), parent: Number(parent), state }
  } catch {
    return undefined // it has ended meanwhile
  }
}

function descendants(root: number): readonly ProcessStat[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statOf(name) ?? [])
  const found: ProcessStat[] = []
  let parents = new Set([root])
  while (parents.size > 0) {
    const children = all.filter(({ parent }) => parents.has(parent))
    found.push(...children)
    parents = new Set(children.map(({ pid }) => pid))
  }
  return found
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // it has ended meanwhile
  }
}

/** @returns A function that ends it. Processes that others suspended stay suspended. */
export function startStalls(): () => void {
  const stopped = new Map<number, NodeJS.Timeout>()
  const goOn = (pid: number): void => {
    clearTimeout(stopped.get(pid))
    stopped.delete(pid)
    signal(pid, 'SIGCONT')
  }
  const timer = setInterval(() => {
    if (stopped.size >= AT_ONCE) return
    const candidates = descendants(process.pid).filter(({ pid, state }) => state !== STOPPED && !stopped.has(pid))
    const chosen = candidates[Math.floor(Math.random() * candidates.length)]
    if (chosen === undefined) return
    signal(chosen.pid, 'SIGSTOP')
    stopped.set(
      chosen.pid,
      setTimeout(() => goOn(chosen.pid), Math.random() * LONGEST_MS),
    )
  }, EACH_MS)
  return () => {
    clearInterval(timer)
    for (const pid of stopped.keys()) goOn(pid)
  }
}
