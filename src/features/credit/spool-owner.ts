/** Whose spool a directory is, and whether that process can still be there. */
import { readFileSync, readlinkSync } from 'node:fs'
import { isRecord, parseJson } from '../../lib/json.ts'
import { SPOOL_VERSION } from './spool-records.ts'

export interface SpoolOwner {
  readonly version: number
  readonly pid: number
  /** When the process started, in clock ticks since boot; pids are used again, pid and this are not. */
  readonly startTicks: string | undefined
  /** Of the machine's current run. */
  readonly bootId: string | undefined
  /** Whether there is a checkpoint; releases before it had none. */
  readonly checkpoint?: boolean
  /** Pids of another namespace say nothing here: a container's first process is always 1. */
  readonly pidNamespace: string | undefined
}

/**
 * `alive`, `dead`: certain. `rebooted`: it is of another run of a machine, this one or another. `unknown`: it cannot be
 * seen from here. In both of those cases the lease in the database decides.
 */
export type OwnerState = 'alive' | 'dead' | 'rebooted' | 'unknown'

/** On systems without `/proc`, all but the pid is undefined. */
export function ownProcess(): SpoolOwner {
  return {
    version: SPOOL_VERSION,
    pid: process.pid,
    startTicks: processStat('self')?.startTicks,
    bootId: readText('/proc/sys/kernel/random/boot_id')?.trim(),
    pidNamespace: readLink('/proc/self/ns/pid'),
  }
}

export function ownerText(owner: SpoolOwner): string {
  return JSON.stringify(owner)
}

/** @returns undefined for what is not an owner's text. */
export function parseOwner(text: string): SpoolOwner | undefined {
  const owner = parseJson(text)
  if (!isRecord(owner) || typeof owner['pid'] !== 'number' || typeof owner['version'] !== 'number') return undefined
  return owner as unknown as SpoolOwner // its other fields are strings that are compared and nothing else
}

export function stateOf(owner: SpoolOwner, own: SpoolOwner): OwnerState {
  if (owner.bootId !== own.bootId) return 'rebooted'
  if (owner.pidNamespace !== own.pidNamespace) return 'unknown'
  if (!pidExists(owner.pid)) return 'dead'
  if (owner.startTicks === undefined) return 'unknown'
  const stat = processStat(String(owner.pid))
  if (stat === undefined) return 'unknown'
  return stat.ended || stat.startTicks !== owner.startTicks ? 'dead' : 'alive'
}

function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

interface ProcessStat {
  readonly startTicks: string
  /** Nothing of it is left but its number, until its parent has asked how it ended. */
  readonly ended: boolean
}

/** Fields 3 and 22 of `/proc/<pid>/stat` (proc_pid_stat(5)); the name before them may itself have spaces and brackets. */
function processStat(pid: string): ProcessStat | undefined {
  const text = readText(`/proc/${pid}/stat`)
  if (text === undefined) return undefined
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state = '', startTicks] = [fields[0], fields[19]]
  return startTicks === undefined ? undefined : { startTicks, ended: state === 'Z' || state === 'X' }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}
