/**
 * Folders of agents on this machine: which system user owns them, how much they hold, and their removal, however deep they
 * are and even if their owner closed them to itself. Nothing may run in a folder while it is removed.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

/** Of the numbers that systemd leaves to nobody (`UIDS-GIDS.md`), so that no file belongs to it but workspaces. */
const UNPRIVILEGED: SystemUser = { uid: 61_075, gid: 61_075 }
/** The range that systemd documents as unused, 2^28 numbers: those of accounts. */
export const ACCOUNT_UIDS = { first: 0x7000_0000, count: 0x1000_0000 } as const

/**
 * Returns the user for commands and git: one of an account's own, derived from its ID, or without an account the one of
 * tests and probes. Two accounts of ten thousand may share a number; namespaces keep them apart even then.
 *
 * Only a service that is root can change who it is. For another one commands are the service's user, in namespaces where
 * that gives them nothing but their workspace: undefined. Where root has few numbers, as in some containers, all accounts
 * share one.
 */
export function sandboxUser(account?: string): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  if (account === undefined || !hasAccountUids()) return UNPRIVILEGED
  const number = createHash('sha256').update(account).digest().readUInt32BE() % ACCOUNT_UIDS.count
  return { uid: ACCOUNT_UIDS.first + number, gid: ACCOUNT_UIDS.first + number }
}

let accountUids: boolean | undefined

function hasAccountUids(): boolean {
  accountUids ??= isMapped('/proc/self/uid_map') && isMapped('/proc/self/gid_map')
  return accountUids
}

/** Whether one line of the map (user_namespaces(7): inside, outside, count) has the whole range. */
function isMapped(file: string): boolean {
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return lines.some((line) => {
    const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number)
    return first <= ACCOUNT_UIDS.first && first + count >= ACCOUNT_UIDS.first + ACCOUNT_UIDS.count
  })
}

/** Makes an empty folder that commands may write to. */
export function makeWorkspace(path: string, user = sandboxUser()): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  if (user !== undefined) chownSync(path, user.uid, user.gid)
}

/** Makes a folder that nobody but the service may enter, whatever its mode was. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
}

const MEASURE_TIMEOUT_MS = 60_000
const ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C' }

/**
 * Root enters any folder. Another user does as the root of a user namespace of its own, in which the rights over its own
 * files, and no others, are root's.
 */
function asOwner(command: readonly string[]): readonly [string, ...string[]] {
  const [program = '', ...args] = command
  return process.getuid?.() === 0 ? [program, ...args] : ['unshare', '--user', '--map-root-user', program, ...args]
}

/**
 * @returns what `du` counts, which follows no links: bytes with `-B1`, files with `--inodes`. Infinity when it cannot tell.
 * Where no user namespaces can be made, and so no sandbox either, closed folders do not count.
 */
export async function treeUse(path: string, flag: '-B1' | '--inodes'): Promise<number> {
  const command = ['du', '-sx', flag, '.'] as const
  return (await countOf(asOwner(command), path)) ?? (await countOf(command, path)) ?? Number.POSITIVE_INFINITY
}

async function countOf([program, ...args]: readonly [string, ...string[]], cwd: string): Promise<number | undefined> {
  const options = { cwd, env: ENVIRONMENT, timeout: MEASURE_TIMEOUT_MS }
  const output = await promisify(execFile)(program, args, options).then(
    ({ stdout }) => stdout,
    (error: { stdout?: string }) => error.stdout ?? '', // files that went away meanwhile make it fail, and still count
  )
  const found = /^\d+/.exec(output)
  return found === null ? undefined : Number(found[0])
}

/** Does nothing where there is none. @throws when something of it is left. */
export async function removeTree(path: string): Promise<void> {
  const command = ['rm', '-rf', '--', path]
  await promisify(execFile)('rm', command.slice(1), { env: ENVIRONMENT }).catch(() => undefined)
  if (!existsSync(path)) return
  const [program, ...args] = asOwner(command)
  await promisify(execFile)(program, args, { env: ENVIRONMENT })
}
