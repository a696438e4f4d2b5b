/** Who the commands of agents are on this machine, as the kernel sees it from outside of their sandboxes. */
import { execFile } from 'node:child_process'
import { chownSync, mkdirSync } from 'node:fs'
import { promisify } from 'node:util'

export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

/** Of the numbers that systemd leaves to nobody (`UIDS-GIDS.md`), so that no file belongs to it but workspaces. */
const UNPRIVILEGED: SystemUser = { uid: 61_075, gid: 61_075 }

/**
 * A service that is root starts commands as a user who owns nothing. Another one cannot change who it is: then commands
 * are the service's user, in namespaces where that gives them nothing but their workspace.
 */
export function sandboxUser(): SystemUser | undefined {
  return process.getuid?.() === 0 ? UNPRIVILEGED : undefined
}

/** Makes an empty folder that commands may write to. */
export function makeWorkspace(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const user = sandboxUser()
  if (user !== undefined) chownSync(path, user.uid, user.gid)
}

/** Gives commands what the service has put into a workspace. Follows no links. */
export async function handOver(path: string): Promise<void> {
  const user = sandboxUser()
  if (user === undefined) return
  await promisify(execFile)('chown', ['-hRP', `${user.uid}:${user.gid}`, '--', path], {
    env: { PATH: '/usr/bin:/bin' },
  })
}
