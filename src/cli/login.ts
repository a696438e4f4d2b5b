/** `turnpike login`: signs this machine in to a server with the device flow. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isRecord, textOf } from '../lib/json.ts'
import { loadCliConfig } from './context.ts'
import { keyBearer, loginCommand, withTokenLock } from './remote/bearer.ts'
import { createClient } from './remote/client.ts'
import { configFolder } from './remote/config-folder.ts'
import { credentialFile } from './remote/credential-file.ts'
import { openStore, ownerOf } from './remote/credential-store.ts'
import { type Outcome, waitForApproval } from './remote/device-flow.ts'
import { type AuthorizationServer, beginDeviceFlow, CLIENT_ID, discover, pollOnce, revoke } from './remote/oauth.ts'
import { openBrowser } from './remote/open-browser.ts'
import { plainLine } from './remote/plain-text.ts'
import { FIRST_PROFILE, findProfile, openProfiles, type Profile, withProfile } from './remote/profiles.ts'
import { isReadableOnTheWay } from './remote/server-url.ts'
import { createScreen, type Screen } from './remote/sign-in-screen.ts'
import { localUrl, type TargetOptions, urlOfEnvironment } from './remote/target.ts'
import type { Tokens } from './remote/tokens.ts'

export interface LoginOptions extends TargetOptions {
  readonly open?: boolean
  readonly insecureFile?: boolean
}

export async function login(options: LoginOptions): Promise<void> {
  const folder = configFolder()
  const name = options.profile ?? FIRST_PROFILE
  const before = findProfile(await openProfiles(folder).read(), name)
  const url = options.url ?? urlOfEnvironment() ?? before?.url ?? localUrl(await loadCliConfig())
  const kind = options.insecureFile === true ? 'file' : 'system'
  const screen = createScreen()
  await openStore(kind, folder, loginCommand(name, url)).check()
  warn(screen, { url, file: kind === 'file' ? credentialFile(folder) : undefined })
  const server = await discover(url)
  const outcome = await untilStopped((signal) => authorize({ server, screen, signal, open: options.open === true }))
  const tokens = approved(outcome, loginCommand(name, url))
  const profile = { name, url, clientId: CLIENT_ID, store: kind, ...(await introduce(url, tokens)) } as const
  await keep({ folder, server, profile, tokens })
  screen.result(`Signed in to ${url}${whose(profile)}.`)
  screen.note(`${LASTS} 'turnpike logout${name === FIRST_PROFILE ? '' : ` --profile ${name}`}' ends it.`)
  screen.note(`Commands use the profile '${name}' from now on, unless --profile names another. Try 'turnpike chat'.`)
}

/** Of a Turnpike server; it tells no client. */
const LASTS = 'It lasts for 180 days at most, and ends after 60 without use.'

function warn(screen: Screen, { url, file }: { readonly url: string; readonly file: string | undefined }): void {
  if (isReadableOnTheWay(url)) screen.note(`Warning: ${url} is not https: whoever is on the way can read the tokens.`)
  if (file !== undefined) screen.note(`Warning: the tokens are kept in ${file}, as they are, for whoever can read it.`)
}

/** Ctrl-C ends it in order. */
async function untilStopped(work: (signal: AbortSignal) => Promise<Outcome>): Promise<Outcome> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  process.once('SIGINT', stop)
  try {
    return await work(stopping.signal)
  } catch (error) {
    if (!stopping.signal.aborted) throw error
    throw new Error('Stopped: nobody is signed in. The code is worth nothing without this command.')
  } finally {
    process.off('SIGINT', stop)
  }
}

interface Authorizing {
  readonly server: AuthorizationServer
  readonly screen: Screen
  readonly signal: AbortSignal
  /** Whether to open a browser. */
  readonly open: boolean
}

const TICK_MS = 1_000

async function authorize({ server, screen, signal, open }: Authorizing): Promise<Outcome> {
  const grant = await beginDeviceFlow(server, signal)
  screen.show(grant)
  if (open && !(await openBrowser(grant.completePage))) screen.note('No browser could be opened here.')
  const expiresAt = Date.now() + grant.lifetimeMs
  const countDown = () => screen.countDown(expiresAt - Date.now())
  countDown()
  const ticking = setInterval(countDown, TICK_MS)
  try {
    return await waitForApproval({
      poll: () => pollOnce(server, grant.deviceCode, signal),
      sleep: (ms) => sleep(ms, undefined, { signal }),
      now: Date.now,
      intervalMs: grant.intervalMs,
      expiresAt,
      onTrouble: (message) => screen.note(message === undefined ? 'It answers again.' : `${message} Trying again.`),
    })
  } finally {
    clearInterval(ticking)
    screen.endCountDown()
  }
}

function approved(outcome: Outcome, again: string): Tokens {
  switch (outcome.kind) {
    case 'approved':
      return outcome.tokens
    case 'denied':
      throw new Error(`The request was denied, so nobody is signed in. If that was a mistake, run '${again}'.`)
    case 'expired': {
      const why = outcome.trouble ?? 'The code has expired before anybody approved it.'
      throw new Error(`${why} Nobody is signed in. Run '${again}' for a new code.`)
    }
  }
}

/** Who was signed in, if the server tells. */
async function introduce(url: string, { accessToken }: Tokens): Promise<Pick<Profile, 'email' | 'account'>> {
  const client = createClient({ url, bearer: keyBearer(accessToken), profile: undefined })
  const me = await client.get('/me').catch(() => undefined)
  const name = (field: string, of: string) => {
    const part = isRecord(me) ? me[field] : undefined
    return (isRecord(part) && plainLine(textOf(part[of]))) || undefined
  }
  return { email: name('user', 'email'), account: name('account', 'name') }
}

function whose({ email, account }: Pick<Profile, 'email' | 'account'>): string {
  return `${email === undefined ? '' : ` as ${email}`}${account === undefined ? '' : `, account ${account}`}`
}

interface Arrival {
  readonly folder: string
  readonly server: AuthorizationServer
  readonly profile: Profile
  readonly tokens: Tokens
}

/** What the profile had before is ended. Tokens that cannot be kept are given back, and nothing has changed. */
async function keep({ folder, server, profile, tokens }: Arrival): Promise<void> {
  await withTokenLock(folder, profile.name, async () => {
    const book = openProfiles(folder)
    const before = findProfile(await book.read(), profile.name)
    const past = before === undefined ? undefined : await tokensOf(folder, before)
    try {
      await openStore(profile.store, folder).write(ownerOf(profile), tokens)
      await book.change((profiles) => withProfile(profiles, profile))
    } catch (error) {
      await revoke(server, tokens)
      throw error
    }
    if (before === undefined || past === undefined) return
    if (before.store !== profile.store || before.url !== profile.url) await forget(folder, before)
    await endAt(before, past)
  })
}

// Whatever of the past cannot be had any more is not worth a failure: somebody has just signed in anew.

async function tokensOf(folder: string, profile: Profile): Promise<Tokens | undefined> {
  const store = openStore(profile.store, folder)
  return store.read(ownerOf(profile)).catch(() => undefined)
}

async function forget(folder: string, profile: Profile): Promise<void> {
  const store = openStore(profile.store, folder)
  await store.remove(ownerOf(profile)).catch(() => undefined)
}

async function endAt({ url }: Profile, tokens: Tokens): Promise<void> {
  const server = await discover(url).catch(() => undefined)
  if (server !== undefined) await revoke(server, tokens)
}
