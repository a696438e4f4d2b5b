/**
 * Looks at the processes of a command from outside, several times a second: what the kernel does not bound for all of them
 * together is summed up here. They are seen as they see themselves, through the `/proc` of their own namespace.
 */
import { readdir, readFile, readlink, stat, statfs } from 'node:fs/promises'
import type { DiskGauge } from './disk.ts'
import { HOME } from './launch.ts'
import type { SandboxLimits } from './limits.ts'

export interface WatchOptions {
  /** Process 1 of the sandbox, as this machine counts. */
  readonly initPid: number
  readonly limits: SandboxLimits
  readonly disk: DiskGauge
  /** False where the kernel bounds it. */
  readonly watchMemory: boolean
}

export type Excess = 'memory' | 'disk'

const INTERVAL_MS = 100
const IN_MEMORY = ['/tmp', HOME, '/dev/shm']
/** About what the kernel keeps of a file in memory. */
const INODE_BYTES = 1024
const RESERVE_BYTES = 512 * 1024 * 1024
const RESERVE_SHARE = 0.05
const KIBIBYTE = 1024

/**
 * @param onExcess Called once, and then no more is looked at.
 * @returns Ends it.
 * @throws when the processes cannot be seen: then nothing may run there.
 */
export async function startWatch(options: WatchOptions, onExcess: (excess: Excess) => void): Promise<() => void> {
  const availableAtStart = await availableMemory()
  await memoryOf(options.initPid)
  await options.disk.begin()
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const look = async (): Promise<void> => {
    // A process that ends while it is looked at cannot be read.
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
  if (scratch.files > limits.scratchFiles) return 'disk'
  if (watchMemory && (await takesTooMuch(options, scratch, availableAtStart))) return 'memory'
  return (await disk.isOverfull(() => heldBytes(initPid))) ? 'disk' : undefined
}

async function takesTooMuch(
  { initPid, limits }: WatchOptions,
  scratch: Scratch,
  availableAtStart: number,
): Promise<boolean> {
  const available = await availableMemory()
  if (available < RESERVE_BYTES && available < availableAtStart * (1 - RESERVE_SHARE)) return true
  const room = limits.memoryBytes - scratch.bytes - scratch.files * INODE_BYTES
  // What processes share counts for each of them at first; only who looks guilty is measured exactly.
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

/** What several processes share counts in equal parts. */
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

/** @param pattern Its group is a number of KiB. */
function sumOf(text: string, pattern: RegExp): number {
  let sum = 0
  for (const match of text.matchAll(pattern)) sum += Number(match[1]) * KIBIBYTE
  return sum
}

/** What files take whose names are gone, but which processes still have open. */
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
