/** `turnpike login` signs this machine in to a server with the device flow; `turnpike logout` ends the sign-in. */
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { styleText } from 'node:util'
import { renderUnicodeCompact } from 'uqr'
import { isRecord, textOf } from '../../lib/json.ts'
import { loadCliConfig } from '../configuration.ts'
import { isUnencrypted } from '../option-values.ts'
import { type JsonOption, jsonLine, plainLine, print } from '../output.ts'
import { keyBearer, loginCommand, withTokenLock } from './auth/bearer.ts'
import { credentialFile, openStore, ownerOf, type Tokens } from './auth/credential-store.ts'
import {
  type AuthorizationServer,
  beginDeviceFlow,
  CLIENT_ID,
  type DeviceGrant,
  discover,
  type Outcome,
  pollOnce,
  revoke,
  waitForApproval,
} from './auth/oauth.ts'
import { configFolder } from './auth/private-files.ts'
import { FIRST_PROFILE, findProfile, openProfiles, type Profile, withoutProfile, withProfile } from './auth/profiles.ts'
import { createClient } from './client.ts'
import { knownNames, localUrl, type TargetOptions, urlOfEnvironment } from './target.ts'

export interface LoginOptions extends TargetOptions, JsonOption {
  readonly open?: boolean
  readonly insecureFile?: boolean
}

export async function login(options: LoginOptions): Promise<void> {
  const folder = configFolder()
  const name = options.profile ?? FIRST_PROFILE
  const before = findProfile(await openProfiles(folder).read(), name)
  const url = options.url ?? urlOfEnvironment() ?? before?.url ?? localUrl(await loadCliConfig())
  const kind = options.insecureFile === true ? 'file' : 'system'
  const { stdout, stderr } = process
  const screen = createScreen({ stdout: options.json === true ? stderr : stdout, stderr })
  await openStore(kind, folder, loginCommand(name, url)).check()
  warn(screen, { url, file: kind === 'file' ? credentialFile(folder) : undefined })
  const server = await discover(url)
  const outcome = await untilStopped((signal) => authorize({ server, screen, signal, open: options.open === true }))
  const tokens = approved(outcome, loginCommand(name, url))
  const profile = { name, url, clientId: CLIENT_ID, store: kind, ...(await introduce(url, tokens)) } as const
  await saveSignIn({ folder, server, profile, tokens })
  const { email = null, account = null } = profile
  if (options.json === true) await print(jsonLine({ profile: name, url, email, account }))
  else screen.result(`Signed in to ${url}${whose(profile)}.`)
  screen.note(`${SESSION_LIMITS} Run 'turnpike logout${name === FIRST_PROFILE ? '' : ` --profile ${name}`}' to end it.`)
  screen.note(`Commands now use the profile '${name}' unless you pass --profile. Try 'turnpike chat'.`)
}

/** The session limits of a Turnpike server, which no response reports. */
const SESSION_LIMITS = 'The sign-in expires after 180 days, or after 60 days without use.'

function warn(screen: Screen, { url, file }: { readonly url: string; readonly file: string | undefined }): void {
  if (isUnencrypted(url))
    screen.note(`Warning: ${url} is not https, so that others on the network can read the tokens.`)
  if (file !== undefined) screen.note(`Warning: the tokens are stored unencrypted in ${file}.`)
}

/** Aborts the work on Ctrl-C. */
async function untilStopped(work: (signal: AbortSignal) => Promise<Outcome>): Promise<Outcome> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  process.once('SIGINT', stop)
  try {
    return await work(stopping.signal)
  } catch (error) {
    if (!stopping.signal.aborted) throw error
    throw new Error('Stopped before the sign-in was complete. The code is no longer valid.')
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
const NO_BROWSER = 'No browser could be opened on this machine.'

async function authorize({ server, screen, signal, open }: Authorizing): Promise<Outcome> {
  const grant = await beginDeviceFlow(server, signal)
  screen.show(grant)
  if (open) openBrowser(grant.completePage, () => screen.note(`${NO_BROWSER} Open the address above on any device.`))
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
      onProblem: (message) =>
        screen.note(message === undefined ? 'The server responds again.' : `${message} Retrying.`),
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
      throw new Error(`The request was denied. To try again, run '${again}'.`)
    case 'expired': {
      const why = outcome.problem ?? 'The code expired before it was approved.'
      throw new Error(`${why} Run '${again}' for a new code.`)
    }
  }
}

/** Returns who is signed in, if the server responds. */
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

/** Stores the tokens and revokes the previous ones of the profile. If storing fails, revokes the new ones. */
async function saveSignIn({ folder, server, profile, tokens }: Arrival): Promise<void> {
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

// Failures of the previous sign-in are ignored, since the new one has succeeded.

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

export interface LogoutOptions extends JsonOption {
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
    throw new Error(`You are not signed in${name === undefined ? '' : ` as profile '${name}'`}${knownNames(profiles)}.`)
  }
  const left = []
  for (const profile of leaving) {
    const problem = await leave(folder, profile)
    if (problem === undefined && options.json !== true) await print(`Signed out of ${profile.url}.\n`)
    left.push({ profile: profile.name, url: profile.url, revoked: problem === undefined })
  }
  if (options.json === true) await print(jsonLine({ data: left }))
  const { chosen } = await openProfiles(folder).read()
  if (chosen !== undefined && chosen !== profiles.chosen) {
    process.stderr.write(`Commands now use the profile '${chosen}'.\n`)
  }
}

/** Deletes the sign-in from this machine in any case; the command fails if the server did not revoke it. */
async function leave(folder: string, profile: Profile): Promise<string | undefined> {
  const problem = await withTokenLock(folder, profile.name, async () => {
    const store = openStore(profile.store, folder)
    const tokens = await store.read(ownerOf(profile))
    const problem = tokens === undefined ? undefined : await end(profile, tokens)
    await store.remove(ownerOf(profile))
    await openProfiles(folder).change((profiles) => withoutProfile(profiles, profile.name))
    return problem
  })
  if (problem === undefined) return undefined
  process.exitCode = 1
  process.stderr.write(
    `${problem} The sign-in was deleted from this machine but is still valid at the server: disconnect this device in the dashboard of ${profile.url}.\n`,
  )
  return problem
}

async function end({ url }: Profile, tokens: Tokens): Promise<string | undefined> {
  try {
    return await revoke(await discover(url), tokens)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [program: string, ...words: string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/**
 * Opens a browser in the background.
 * @param url http or https, as `URL` writes it.
 * @param onFailure Called once if none can be opened: `xdg-open` starts everywhere, and fails without a display.
 */
function openBrowser(url: string, onFailure: () => void): void {
  const [program, ...words] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...words, url], { stdio: 'ignore', detached: true })
  child.once('error', onFailure)
  child.once('exit', (code) => {
    if (code !== 0) onFailure()
  })
  child.unref()
}

/* Output of `turnpike login`: the code and the result on standard output, everything else on standard error. */

interface Screen {
  /** Shows the address and the code. */
  show(grant: DeviceGrant): void
  /** Shows the remaining time on a terminal, over the previous value. */
  countDown(leftMs: number): void
  endCountDown(): void
  /** Writes a line to standard error. */
  note(text: string): void
  /** Writes the result to standard output. */
  result(text: string): void
}

export interface Terminal {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
}

const CLEAR_LINE = '\r\u001b[2K'

function createScreen({ stdout, stderr }: Terminal = process): Screen {
  let isCounting = false
  const clear = () => {
    if (isCounting) stderr.write(CLEAR_LINE)
    isCounting = false
  }
  return {
    show(grant) {
      stdout.write(stdout.isTTY ? invitation(grant, stdout) : plainInvitation(grant))
      stderr.write('Check that the page shows the same code and the permissions that you expect.\n')
    },
    countDown(leftMs) {
      if (!stderr.isTTY) return
      clear()
      isCounting = true
      stderr.write(
        styleText('dim', `Waiting for approval, ${clockText(leftMs)} left. Press Ctrl-C to stop.`, { stream: stderr }),
      )
    },
    endCountDown: clear,
    note(text) {
      clear()
      stderr.write(`${text}\n`)
    },
    result(text) {
      clear()
      stdout.write(`${text}\n`)
    },
  }
}

function plainInvitation({ page, userCode }: DeviceGrant): string {
  return `Open ${page} and enter the code ${userCode}\n`
}

function invitation(grant: DeviceGrant, stream: NodeJS.WriteStream): string {
  const code = `   ${[...grant.userCode].join(' ')}   `
  const line = '─'.repeat(code.length)
  const bold = styleText('bold', code, { stream })
  return [
    `\nOpen ${styleText('bold', grant.page, { stream })}`,
    'in a browser, on any device, and enter the code\n',
    `    ┌${line}┐`,
    `    │${bold}│`,
    `    └${line}┘\n`,
    picture(grant.completePage, stream),
  ].join('\n')
}

const QR_MARGIN = 4

/** Returns a QR code, dark on light in any colour scheme; '' if it does not fit. */
function picture(text: string, stream: NodeJS.WriteStream): string {
  const lines = renderUnicodeCompact(text, { ecc: 'L' }).split('\n')
  const fits = (lines[0]?.length ?? 0) + QR_MARGIN <= stream.columns && lines.length + QR_MARGIN <= stream.rows
  if (!fits) return ''
  return lines.map((line) => `    ${styleText(['whiteBright', 'bgBlack'], line, { stream })}\n`).join('')
}

/** `14:59` */
export function clockText(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
