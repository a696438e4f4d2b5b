/**
 * Folders of agents on this machine: their owner, their size, and their removal, whatever their depth and permissions. No
 * process may run in a folder while it is removed.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

/** An ID that systemd leaves unassigned (`UIDS-GIDS.md`), so that it owns no files except workspaces. */
const UNPRIVILEGED: SystemUser = { uid: 61_075, gid: 61_075 }
/** The IDs of accounts: the range that systemd documents as unused, 2^28 IDs. */
export const ACCOUNT_UIDS = { first: 0x7000_0000, count: 0x1000_0000 } as const

/**
 * Returns the system user of commands and git: derived from the account's ID, or without an account the one of tests and
 * probes. Two of ten thousand accounts may share an ID; namespaces isolate them even then.
 *
 * Undefined if the service is not root and cannot switch users: commands then run as the service's user, in namespaces that
 * give access to their workspace only. If root has few IDs, as in some containers, all accounts share one.
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

/** Whether a line of the map (user_namespaces(7): inside, outside, count) contains the whole range. */
function isMapped(file: string): boolean {
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return lines.some((line) => {
    const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number)
    return first <= ACCOUNT_UIDS.first && first + count >= ACCOUNT_UIDS.first + ACCOUNT_UIDS.count
  })
}

/** Creates an empty folder that commands can write to. */
export function makeWorkspace(path: string, user = sandboxUser()): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  if (user !== undefined) chownSync(path, user.uid, user.gid)
}

/** Creates a folder that only the service can enter, or resets the mode of an existing one. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
}

const MEASURE_TIMEOUT_MS = 60_000
const ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C' }

/**
 * Root can enter any folder. Another user runs the command as root of a new user namespace, which has root's rights over the
 * user's own files only.
 */
function asOwner(command: readonly string[]): readonly [string, ...string[]] {
  const [program = '', ...args] = command
  return process.getuid?.() === 0 ? [program, ...args] : ['unshare', '--user', '--map-root-user', program, ...args]
}

/**
 * Returns the result of `du`, which follows no links: bytes with `-B1`, files with `--inodes`. Infinity if it fails. Without
 * user namespaces, and therefore without a sandbox, inaccessible folders do not count.
 */
export async function treeUse(path: string, flag: '-B1' | '--inodes'): Promise<number> {
  const command = ['du', '-sx', flag, '.'] as const
  return (await countOf(asOwner(command), path)) ?? (await countOf(command, path)) ?? Number.POSITIVE_INFINITY
}

async function countOf([program, ...args]: readonly [string, ...string[]], cwd: string): Promise<number | undefined> {
  const options = { cwd, env: ENVIRONMENT, timeout: MEASURE_TIMEOUT_MS }
  const output = await promisify(execFile)(program, args, options).then(
    ({ stdout }) => stdout,
    (error: { stdout?: string }) => error.stdout ?? '', // files deleted in the meantime make it fail; its count is still valid
  )
  const found = /^\d+/.exec(output)
  return found === null ? undefined : Number(found[0])
}

/** Does nothing if it does not exist. @throws if a part could not be removed. */
export async function removeTree(path: string): Promise<void> {
  const command = ['rm', '-rf', '--', path]
  await promisify(execFile)('rm', command.slice(1), { env: ENVIRONMENT }).catch(() => undefined)
  if (!existsSync(path)) return
  const [program, ...args] = asOwner(command)
  await promisify(execFile)(program, args, { env: ENVIRONMENT })
}
