/**
 * Paths: `<data_dir>/spool/` contains `reserve` and a directory for each process with records, named after its instance.
 * The directory contains `owner`, which identifies the process; `complete`, which exists while every request that was sent
 * to a provider is recorded; `checkpoint`, what the logs must contain; and the logs.
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
 * Creates the directory if it is missing. If it existed before, another process mistook this one for dead and read it: then
 * it is not complete, since its earlier records are gone.
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

/** Marks the spool as incomplete: a request without a record may have been sent. Needs no disk space. */
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
  /** Start of the process in clock ticks since boot: PIDs are reused, but not with the same start. */
  readonly startTicks: string | undefined
  /** Boot ID of the machine. */
  readonly bootId: string | undefined
  /** Whether a checkpoint exists; earlier releases wrote none. */
  readonly checkpoint?: boolean
  /** PIDs of another namespace cannot be compared: the first process of a container is always 1. */
  readonly pidNamespace: string | undefined
}

/**
 * `alive`, `dead`: certain. `rebooted`: the machine was restarted since, or it is another machine. `unknown`: the process is
 * not visible from here. In the last two cases the lease in the database decides.
 */
export type OwnerState = 'alive' | 'dead' | 'rebooted' | 'unknown'

/** Without `/proc` all fields except the PID are undefined. */
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

/** @returns undefined for invalid text. */
export function parseOwner(text: string): SpoolOwner | undefined {
  const owner = parseJson(text)
  if (!isRecord(owner) || typeof owner['pid'] !== 'number' || typeof owner['version'] !== 'number') return undefined
  return owner as unknown as SpoolOwner // its other fields are strings, which are only compared
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
  /** A zombie: it has ended, but its parent has not read its exit status. */
  readonly ended: boolean
}

/** Fields 3 and 22 of `/proc/<pid>/stat` (proc_pid_stat(5)); the name before them may contain spaces and brackets. */
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

/** PIDs of services that certainly run on the data directory. */
export async function runningProcesses(dataDirectory: string): Promise<readonly number[]> {
  const own = currentProcess()
  const running: number[] = []
  for (const directory of await spoolDirectories(dataDirectory)) {
    const owner = await readOwner(directory)
    if (owner !== undefined && stateOf(owner, own) === 'alive') running.push(owner.pid)
  }
  return running
}

/** Spools whose settlements may be missing in the database; a service that shuts down cleanly leaves none. */
export async function spoolDirectories(dataDirectory: string): Promise<readonly string[]> {
  const root = spoolRoot(dataDirectory)
  const names = await readdir(root).catch(() => [])
  return names.filter((name) => SPOOL_NAME.test(name)).map((name) => join(root, name))
}

/** @returns undefined if it is missing or invalid. */
export async function readOwner(directory: string): Promise<SpoolOwner | undefined> {
  try {
    return parseOwner(await readFile(join(directory, OWNER_FILE), 'utf8'))
  } catch {
    return undefined
  }
}
