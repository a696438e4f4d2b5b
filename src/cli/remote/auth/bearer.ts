/** Credentials of requests: a fixed key, or tokens that are renewed when necessary. */
import { join } from 'node:path'
import { type CredentialStore, ownerOf, type Tokens } from './credential-store.ts'
import { type AuthorizationServer, discover, refreshTokens } from './oauth.ts'
import { withLock } from './private-files.ts'
import type { Profile } from './profiles.ts'

export interface Bearer {
  /** Returns the current credential. Rejects with advice if there is none. */
  current(): Promise<string>
  /** Returns another credential after the server rejected `refused`; undefined if there is none. */
  renewed(refused: string): Promise<string | undefined>
}

export function keyBearer(key: string): Bearer {
  return { current: async () => key, renewed: async () => undefined }
}

export interface SignIn {
  readonly profile: Profile
  readonly store: CredentialStore
  /** Configuration folder of the user, for locks. */
  readonly folder: string
  readonly now?: () => number
}

/** Renews tokens this early, since requests take time and clocks differ. */
const EARLY_MS = 60_000

export function profileBearer(signIn: SignIn): Bearer {
  const { profile, store, now = Date.now } = signIn
  const read = () => store.read(ownerOf(profile))
  const isFresh = ({ expiresAt }: Tokens) => expiresAt - now() > EARLY_MS
  const renew = (isGood: (tokens: Tokens) => boolean) => renewUnderLock(signIn, isGood)
  return {
    async current() {
      const tokens = await read()
      if (tokens === undefined) throw signedOut(profile, 'has no tokens on this machine')
      if (isFresh(tokens)) return tokens.accessToken
      const renewed = await renew(isFresh)
      if (renewed === undefined) throw signedOut(profile, 'was revoked or has expired')
      return renewed.accessToken
    },
    renewed: async (refused) => (await renew(({ accessToken }) => accessToken !== refused))?.accessToken,
  }
}

/** The first of several concurrent commands renews the tokens; the others use them. `isGood` detects that. */
async function renewUnderLock(
  { profile, store, folder }: SignIn,
  isGood: (tokens: Tokens) => boolean,
): Promise<Tokens | undefined> {
  return withTokenLock(folder, profile.name, async () => {
    const tokens = await store.read(ownerOf(profile))
    if (tokens === undefined || isGood(tokens)) return tokens
    if (tokens.refreshToken === undefined) return undefined
    const server: AuthorizationServer = await discover(profile.url)
    const renewed = await refreshTokens(server, tokens.refreshToken)
    if (renewed !== undefined) await store.write(ownerOf(profile), renewed)
    return renewed
  })
}

/** Runs an action under the lock on the tokens of a profile. */
export function withTokenLock<Result>(folder: string, profile: string, action: () => Promise<Result>): Promise<Result> {
  return withLock(join(folder, `${profile}.lock`), action)
}

/** @param why `was revoked or has expired` */
export function signedOut({ name, url }: Pick<Profile, 'name' | 'url'>, why: string): Error {
  return new Error(`The sign-in to ${url} ${why}. Run '${loginCommand(name, url)}' to sign in again.`)
}

/** Returns the command that signs in to a server. */
export function loginCommand(profile: string, url: string): string {
  const flag = profile === 'default' ? '' : ` --profile ${profile}`
  return `turnpike login${flag} --url ${url}`
}
