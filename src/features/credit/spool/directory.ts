/**
 * What lies where: `<data_dir>/spool/` has `reserve` and a directory for each process that has something to say, named
 * after its instance. In it: `owner`, who that is; `complete`, there as long as every request that left for a provider
 * is noted; `checkpoint`, what the logs must contain; and the logs.
 */
import { existsSync, readFileSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeDirectory, syncPath } from '../../../db/directory.ts'
import { isRecord, parseJson } from '../../../lib/json.ts'

import { SPOOL_VERSION } from './records.ts'

export const OWNER_FILE = 'owner'
export const COMPLETE_FILE = 'complete'
export const CHECKPOINT_FILE = 'checkpoint'
export const RESERVE_FILE = 'reserve'
export const DISPATCH_LOG = 'dispatched'
export const MONEY_LOG = 'settled'

export function spoolRoot(dataDirectory: string): string {
  return join(dataDirectory, 'spool')
}

/**
 * Makes the directory where it is missing. One that is made again, because another process took it for a dead one's, is not
 * complete: what it said before is gone.
 */
export function prepareDirectory(directory: string, owner: SpoolOwner, first: boolean): void {
  const ownerFile = join(directory, OWNER_FILE)
  if (!first && existsSync(ownerFile)) return
  makeDirectory(directory)
  if (first) writeFileSync(join(directory, COMPLETE_FILE), '', { mode: 0o600 })
  writeFileSync(`${ownerFile}.new`, ownerText(owner), { mode: 0o600, flush: true })
  renameSync(`${ownerFile}.new`, ownerFile)
  syncPath(directory)
  syncPath(dirname(directory))
}

/** From now on, what is not noted proves nothing. Needs no space on the disk. */
export function markIncomplete(directory: string, onError: (error: unknown) => void): void {
  try {
    rmSync(join(directory, COMPLETE_FILE), { force: true })
  } catch (error) {
    onError(error)
  }
}

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
export function currentProcess(): SpoolOwner {
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

const SPOOL_NAME = /^ins_[0-9A-Za-z]+(\.by\.ins_[0-9A-Za-z]+)?$/

/** Process ids of services that certainly run on the data directory. */
export async function runningProcesses(dataDirectory: string): Promise<readonly number[]> {
  const own = currentProcess()
  const running: number[] = []
  for (const directory of await spoolDirectories(dataDirectory)) {
    const owner = await readOwner(directory)
    if (owner !== undefined && stateOf(owner, own) === 'alive') running.push(owner.pid)
  }
  return running
}

/** Spools whose settlements may not be in the database: a service that ends in order leaves none. */
export async function spoolDirectories(dataDirectory: string): Promise<readonly string[]> {
  const root = spoolRoot(dataDirectory)
  const names = await readdir(root).catch(() => [])
  return names.filter((name) => SPOOL_NAME.test(name)).map((name) => join(root, name))
}

/** @returns undefined when it is not there or says nothing. */
export async function readOwner(directory: string): Promise<SpoolOwner | undefined> {
  try {
    return parseOwner(await readFile(join(directory, OWNER_FILE), 'utf8'))
  } catch {
    return undefined
  }
}
