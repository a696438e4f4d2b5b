/**
 * Simulates an overloaded machine: stops random descendant processes for up to a second, a few at a time. Tests that fail then
 * depend on timing or on an unspecified order. Linux only.
 */
import { readdirSync, readFileSync } from 'node:fs'

const EACH_MS = 120
const LONGEST_MS = 1_000
/** Maximum number of stopped processes. */
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
    return undefined // the process has ended
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
    // the process has ended
  }
}

/** @returns a function that ends the stalls. Processes suspended by others stay suspended. */
export function startStalls(): () => void {
  const stopped = new Map<number, NodeJS.Timeout>()
  const resume = (pid: number): void => {
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
      setTimeout(() => resume(chosen.pid), Math.random() * LONGEST_MS),
    )
  }, EACH_MS)
  return () => {
    clearInterval(timer)
    for (const pid of stopped.keys()) resume(pid)
  }
}
