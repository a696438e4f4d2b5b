/** Compares the logs of a dead process with what they must contain. */
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { CHECKPOINT_FILE, DISPATCH_LOG, MONEY_LOG } from './spool-directory.ts'
import type { SpoolContent } from './spool-reader.ts'
import { chainStart, isSameSeal, type LogState, parseCheckpoint, readSegment } from './spool-seal.ts'

/** What is wrong with each log, in words; none: nothing is missing of it. */
export interface Damage {
  readonly dispatched: readonly string[]
  readonly settled: readonly string[]
}

const NONE: Damage = { dispatched: [], settled: [] }

/** Of a release without checkpoints nothing can be said. */
export async function damageOf(directory: string, content: SpoolContent, instanceId: string): Promise<Damage> {
  if (content.owner?.checkpoint !== true) return NONE
  const checkpoint = parseCheckpoint(await readIfThere(join(directory, CHECKPOINT_FILE)))
  if (checkpoint === undefined) {
    const lost = ['the checkpoint is missing or damaged']
    return { dispatched: lost, settled: lost }
  }
  const look = (log: string, files: readonly string[]) =>
    damageOfLog({ log, files, instanceId, state: checkpoint[log] })
  const [dispatched, settled] = await Promise.all([
    look(DISPATCH_LOG, content.dispatchFiles),
    look(MONEY_LOG, content.moneyFiles),
  ])
  return { dispatched, settled }
}

async function readIfThere(path: string): Promise<Uint8Array> {
  return readFile(path).catch(() => new Uint8Array(0))
}

interface FoundLog {
  readonly log: string
  readonly instanceId: string
  /** Paths, in the order in which they were written. */
  readonly files: readonly string[]
  /** Undefined: the checkpoint does not know it. */
  readonly state: LogState | undefined
}

async function damageOfLog({ log, instanceId, files, state }: FoundLog): Promise<readonly string[]> {
  if (state === undefined) return [`the checkpoint does not say what ${log} has`]
  const numbers = new Map(files.map((path) => [Number(/-(\d+)\.log$/.exec(path)?.[1]), path]))
  const newest = state.segments.at(-1)
  const problems: string[] = []
  for (const number of state.segments) if (!numbers.has(number)) problems.push(`${log}: segment ${number} is missing`)
  for (const [number, path] of numbers) {
    const name = basename(path)
    const count = number === newest ? state.seal.count : -1
    const { seal, atCheckpoint, end, damaged } = readSegment(await readFile(path), chainStart(instanceId, name), count)
    if (damaged > 0) problems.push(`${name}: ${damaged} damaged lines`)
    if (end !== undefined && !isSameSeal(seal, end)) problems.push(`${name}: not the ${end.count} lines of its seal`)
    if (number === newest && !isSameSeal(atCheckpoint, state.seal))
      problems.push(`${name}: not the ${state.seal.count} lines of the checkpoint`)
    else if (number !== newest && end === undefined && state.segments.includes(number))
      problems.push(`${name}: its end is missing`)
  }
  return problems
}
