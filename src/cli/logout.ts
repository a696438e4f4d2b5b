/** `turnpike logout`: ends a sign-in at its server and forgets it here. */
import { withTokenLock } from './remote/bearer.ts'
import { configFolder } from './remote/config-folder.ts'
import { openStore, ownerOf } from './remote/credential-store.ts'
import { discover, revoke } from './remote/oauth.ts'
import { findProfile, openProfiles, type Profile, withoutProfile } from './remote/profiles.ts'
import { knownNames } from './remote/target.ts'
import type { Tokens } from './remote/tokens.ts'

export interface LogoutOptions {
  readonly profile?: string
  readonly all?: boolean
}

export async function logout(options: LogoutOptions): Promise<void> {
  const folder = configFolder()
  const profiles = await openProfiles(folder).read()
  const name = options.profile ?? profiles.chosen
  const named = findProfile(profiles, name)
  const leaving = options.all === true ? profiles.all : named === undefined ? [] : [named]
  if (leaving.length === 0 && options.all !== true) {
    throw new Error(`Nobody is signed in${name === undefined ? '' : ` as profile '${name}'`}${knownNames(profiles)}.`)
  }
  for (const profile of leaving) await leave(folder, profile)
  const { chosen } = await openProfiles(folder).read()
  if (chosen !== undefined && chosen !== profiles.chosen) {
    process.stderr.write(`Commands use the profile '${chosen}' from now on.\n`)
  }
}

/** Forgets in any case; a server that could not be told makes the command fail. */
async function leave(folder: string, profile: Profile): Promise<void> {
  const problem = await withTokenLock(folder, profile.name, async () => {
    const store = openStore(profile.store, folder)
    const tokens = await store.read(ownerOf(profile))
    const problem = tokens === undefined ? undefined : await end(profile, tokens)
    await store.remove(ownerOf(profile))
    await openProfiles(folder).change((profiles) => withoutProfile(profiles, profile.name))
    return problem
  })
  if (problem === undefined) return void process.stdout.write(`Signed out of ${profile.url}.\n`)
  process.exitCode = 1
  process.stderr.write(
    `${problem} The sign-in is forgotten here, but good there until it expires: disconnect this device in the dashboard of ${profile.url}.\n`,
  )
}

async function end({ url }: Profile, tokens: Tokens): Promise<string | undefined> {
  try {
    return await revoke(await discover(url), tokens)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
