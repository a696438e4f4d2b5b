import { GitError } from './error.ts'
import { gitText } from './process.ts'
import type { GitSettings } from './settings.ts'

/** The first with everything that is relied on: fixing addresses, sizes in lists of files, the repairs of May 2024. */
const OLDEST: readonly [number, number, number] = [2, 39, 4]

export type GitCheck =
  | { readonly ok: true; readonly version: string }
  | { readonly ok: false; readonly reason: string; readonly fix: string }

/** Whether this machine's git can be used. An older one would take no notice of settings that it does not know. */
export async function checkGit(settings: GitSettings, signal: AbortSignal): Promise<GitCheck> {
  const place = { gitDirectory: '/nonexistent', workspace: '/nonexistent' }
  const call = { ...place, settings: { ...settings, confine: false }, signal, args: ['--version'] }
  try {
    const version = /(\d+)\.(\d+)\.(\d+)/.exec(await gitText(call))
    const [name = 'of unknown version', ...parts] = version ?? []
    if (isEnough(parts.map(Number))) return { ok: true, version: name }
    return { ok: false, reason: `git is ${name}`, fix: `install git ${OLDEST.join('.')} or newer` }
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    return { ok: false, reason: 'git is not there', fix: 'install git: apt-get install git' }
  }
}

export function isEnough(version: readonly number[]): boolean {
  const differing = OLDEST.findIndex((part, index) => part !== version[index])
  return differing === -1 || (version[differing] ?? -1) > (OLDEST[differing] ?? 0)
}
