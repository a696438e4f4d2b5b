/**
 * Monitors the processes of a command from outside, several times a second: memory, sockets and disk usage that the kernel
 * does not limit for all of them together. Processes are read through the `/proc` of their own namespace.
 */
import { readdir, readFile, readlink, stat, statfs } from 'node:fs/promises'
import { treeUse } from './folders.ts'
import { HOME } from './launch.ts'
import type { SandboxLimits } from './limits.ts'

export interface WatchOptions {
  /** Process 1 of the sandbox, by its ID on this machine. */
  readonly initPid: number
  readonly limits: SandboxLimits
  readonly disk: DiskGauge
  /** False where the kernel limits it. */
  readonly watchMemory: boolean
}

export type Excess = 'memory' | 'workspace'

const INTERVAL_MS = 100
const IN_MEMORY = ['/tmp', HOME, '/dev/shm']
/** Approximate size of an inode in the kernel's memory. */
const INODE_BYTES = 1024
const MEMORY_RESERVE_BYTES = 512 * 1024 * 1024
/** Share of memory and disk space that must stay free. */
const RESERVE_SHARE = 0.05
const KIBIBYTE = 1024

/**
 * @param onExcess Called once; it ends the watch.
 * @returns Ends the watch.
 * @throws if the processes cannot be read: then no command may run there.
 */
export async function startWatch(options: WatchOptions, onExcess: (excess: Excess) => void): Promise<() => void> {
  const availableAtStart = await availableMemory()
  await memoryOf(options.initPid)
  await options.disk.begin()
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const look = async (): Promise<void> => {
    // A process that ends in the meantime cannot be read.
    const excess = await findExcess(options, availableAtStart).catch(() => undefined)
    if (isStopped) return
    if (excess === undefined) timer = setTimeout(look, INTERVAL_MS)
    else onExcess(excess)
  }
  timer = setTimeout(look, INTERVAL_MS)
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

async function findExcess(options: WatchOptions, availableAtStart: number): Promise<Excess | undefined> {
  const { initPid, limits, disk, watchMemory } = options
  const scratch = await scratchOf(initPid)
  if (scratch.files > limits.scratchFiles) return 'workspace'
  if (watchMemory && (await takesTooMuch(options, scratch, availableAtStart))) return 'memory'
  return (await disk.isOverfull(() => heldBytes(initPid))) ? 'workspace' : undefined
}

async function takesTooMuch(
  { initPid, limits }: WatchOptions,
  scratch: Scratch,
  availableAtStart: number,
): Promise<boolean> {
  const available = await availableMemory()
  if (available < MEMORY_RESERVE_BYTES && available < availableAtStart * (1 - RESERVE_SHARE)) return true
  if (await isTcpShort(initPid)) return true
  const held = scratch.bytes + scratch.files * INODE_BYTES + (await socketBytes(initPid))
  const room = limits.memoryBytes - held
  if (room < 0) return true
  // The cheap measurement counts shared memory once per process; the exact one runs only beyond the limit.
  return (await memoryOf(initPid)) > room && (await memoryOf(initPid, sharedOut)) > room
}

interface Scratch {
  readonly bytes: number
  readonly files: number
}

async function scratchOf(initPid: number): Promise<Scratch> {
  const all = await Promise.all(IN_MEMORY.map((path) => statfs(`/proc/${initPid}/root${path}`)))
  const bytes = all.reduce((sum, { blocks, bfree, bsize }) => sum + (blocks - bfree) * bsize, 0)
  return { bytes, files: all.reduce((sum, { files, ffree }) => sum + files - ffree, 0) }
}

async function availableMemory(): Promise<number> {
  return sumOf(await readFile('/proc/meminfo', 'utf8'), /^MemAvailable:\s+(\d+)/gm)
}

type MemoryReader = (folder: string) => Promise<number>

const resident: MemoryReader = async (folder) =>
  sumOf(await readFile(`${folder}/status`, 'utf8'), /^Rss(?:Anon|Shmem):\s+(\d+)/gm)

/** Counts shared memory proportionally. */
const sharedOut: MemoryReader = async (folder) =>
  sumOf(await readFile(`${folder}/smaps_rollup`, 'utf8'), /^Pss_(?:Anon|Shmem):\s+(\d+)/gm)

async function memoryOf(initPid: number, read: MemoryReader = resident): Promise<number> {
  const folders = await processFolders(initPid)
  const found = await Promise.allSettled(folders.map(read))
  if (found.every(({ status }) => status === 'rejected')) throw new Error('No process of the sandbox can be read.')
  return found.reduce((sum, outcome) => sum + (outcome.status === 'fulfilled' ? outcome.value : 0), 0)
}

async function processFolders(initPid: number): Promise<string[]> {
  const root = `/proc/${initPid}/root/proc`
  return (await readdir(root)).filter((name) => /^\d+$/.test(name)).map((name) => `${root}/${name}`)
}

/** @param pattern Its group is a number in KiB. */
function sumOf(text: string, pattern: RegExp): number {
  let sum = 0
  for (const match of text.matchAll(pattern)) sum += Number(match[1]) * KIBIBYTE
  return sum
}

/** Returns the size of deleted files that processes still have open. */
async function heldBytes(initPid: number): Promise<number> {
  const sizes = new Map<string, number>()
  for (const folder of await processFolders(initPid)) {
    const names = await readdir(`${folder}/fd`).catch(() => [])
    await Promise.allSettled(names.map((name) => noteHeld(`${folder}/fd/${name}`, sizes)))
  }
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0)
}

async function noteHeld(path: string, sizes: Map<string, number>): Promise<void> {
  if (!(await readlink(path)).endsWith(' (deleted)')) return
  const { dev, ino, blocks } = await stat(path)
  sizes.set(`${dev}:${ino}`, blocks * 512)
}

/** Queues are counted in bytes of payload; the kernel's overhead is about as large. */
const QUEUE_FACTOR = 2
/** Share of the pages at which the kernel throttles all TCP of the machine (tcp(7), `tcp_mem`). */
const TCP_SHARE = 0.5

/** @param pid Of a process in the sandbox. @returns An upper bound for buffers of all sockets, plus the queues of TCP. */
async function socketBytes(pid: number): Promise<number> {
  const sockets = numberIn(await statistics(pid), /^sockets: used (\d+)$/m)
  const queues = await Promise.all(['tcp', 'tcp6'].map((name) => queuedBytes(`/proc/${pid}/net/${name}`)))
  return sockets * (await bufferBytes()) + QUEUE_FACTOR * queues.reduce((sum, bytes) => sum + bytes, 0)
}

/** Whether TCP of this machine is close to the throttling threshold, and this sandbox has TCP sockets. */
async function isTcpShort(pid: number): Promise<boolean> {
  const found = await statistics(pid)
  if (numberIn(found, /^TCP: inuse (\d+)/m) === 0) return false
  const [, pressure = Number.POSITIVE_INFINITY] = await numbersOf('/proc/sys/net/ipv4/tcp_mem')
  return numberIn(found, /^TCP: .* mem (\d+)$/m) > pressure * TCP_SHARE
}

async function statistics(pid: number): Promise<string> {
  return await readFile(`/proc/${pid}/net/sockstat`, 'utf8')
}

function numberIn(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0)
}

async function numbersOf(file: string): Promise<number[]> {
  return (await readFile(file, 'utf8')).trim().split(/\s+/).map(Number)
}

let usual: Promise<number> | undefined

/** A byte in flight is in the buffer of the sender or of the receiver. */
function bufferBytes(): Promise<number> {
  usual ??= Promise.all(['rmem_default', 'wmem_default'].map((name) => numbersOf(`/proc/sys/net/core/${name}`))).then(
    (sizes) => Math.max(...sizes.flat()),
  )
  return usual
}

/** Sums `tx_queue:rx_queue`, the fifth column, in hexadecimal. 0 on a machine without IPv6. */
async function queuedBytes(file: string): Promise<number> {
  const table = await readFile(file, 'utf8').catch(() => '')
  let sum = 0
  for (const [, sent = '', received = ''] of table.matchAll(/ ([0-9A-F]{8}):([0-9A-F]{8}) \d\d:/g)) {
    sum += Number.parseInt(sent, 16) + Number.parseInt(received, 16)
  }
  return sum
}

export interface DiskGauge {
  /** Called at the start of a command. A workspace that exceeds its limit may stay as full, so that a command can clean up. */
  readonly begin: () => Promise<void>
  /** @param heldBytes Size of deleted files that are still open; called only if it decides. */
  readonly isOverfull: (heldBytes: () => Promise<number>) => Promise<boolean>
}

interface Fill {
  readonly bytes: number
  readonly files: number
}

interface Measured extends Fill {
  /** Free space of the file system at that time. */
  readonly free: Fill
  /** By `performance.now()`. */
  readonly at: number
  readonly tookMs: number
}

const DISK_RESERVE_BYTES = 1024 * 1024 * 1024
/** Maximum age of a measurement: others may free space, which hides growth in the free space. */
const MEASURE_EVERY_MS = 5_000
/** Measuring takes at most one part in this many of a command's duration. */
const MEASURE_SHARE = 10

export function createDiskGauge(workspace: string, limits: SandboxLimits): DiskGauge {
  let last: Measured | undefined
  let allowed: Fill = { bytes: limits.workspaceBytes, files: limits.workspaceFiles }
  let freeAtStart = Number.POSITIVE_INFINITY

  const isDue = (free: Fill): boolean => {
    if (last === undefined) return true
    const age = performance.now() - last.at
    if (age > Math.max(MEASURE_EVERY_MS, last.tookMs * MEASURE_SHARE)) return true
    return looksOverfull(last, free) && age > last.tookMs
  }
  const looksOverfull = (measured: Measured, free: Fill): boolean =>
    measured.bytes + measured.free.bytes - free.bytes > allowed.bytes ||
    measured.files + measured.free.files - free.files > allowed.files

  return {
    async begin() {
      const { free } = await freeIn(workspace)
      freeAtStart = free.bytes
      // The workspace grew until the killed command was gone.
      if (last !== undefined && isBeyond(last, limits)) last = await measure(workspace, free)
      allowed = {
        bytes: Math.max(limits.workspaceBytes, last?.bytes ?? 0),
        files: Math.max(limits.workspaceFiles, last?.files ?? 0),
      }
    },
    async isOverfull(heldBytes) {
      const { free, reserveBytes } = await freeIn(workspace)
      if (free.bytes < reserveBytes && free.bytes < freeAtStart) return true
      if (!isDue(free)) return false
      const measured = await measure(workspace, free)
      last = measured
      if (measured.bytes > allowed.bytes || measured.files > allowed.files) return true
      const lostBytes = freeAtStart - free.bytes
      return lostBytes > limits.workspaceBytes && measured.bytes + (await heldBytes()) > allowed.bytes
    },
  }
}

function isBeyond({ bytes, files }: Fill, limits: SandboxLimits): boolean {
  return bytes > limits.workspaceBytes || files > limits.workspaceFiles
}

async function freeIn(folder: string): Promise<{ readonly free: Fill; readonly reserveBytes: number }> {
  const { bsize, blocks, bavail, bfree, ffree } = await statfs(folder)
  // The reserve counts blocks available to users; growth counts all free blocks.
  const reserveBytes = Math.min(DISK_RESERVE_BYTES, blocks * bsize * RESERVE_SHARE) + (bfree - bavail) * bsize
  return { free: { bytes: bfree * bsize, files: ffree }, reserveBytes }
}

async function measure(workspace: string, free: Fill): Promise<Measured> {
  const at = performance.now()
  const [bytes, files] = await Promise.all([treeUse(workspace, '-B1'), treeUse(workspace, '--inodes')])
  return { bytes, files, free, at, tookMs: performance.now() - at }
}
