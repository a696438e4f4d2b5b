/** Stores tokens in the operating system's credential store or, on request, in a file. */

import { join } from 'node:path'
import type { AsyncEntry } from '@napi-rs/keyring'
import { isRecord, parseJson } from '../../../lib/json.ts'
import { isOpenToOthers, readPrivateFile, withLock, writePrivateFile } from './private-files.ts'
import type { StoreKind } from './profiles.ts'

export interface CredentialStore {
  readonly kind: StoreKind
  /** Rejects, with advice, if tokens cannot be stored here. */
  check(): Promise<void>
  read(owner: string): Promise<Tokens | undefined>
  write(owner: string, tokens: Tokens): Promise<void>
  /** Succeeds even if there are none. */
  remove(owner: string): Promise<void>
}

/** Returns the name under which tokens are stored. */
export function ownerOf({ name, url }: { readonly name: string; readonly url: string }): string {
  return `${name} at ${url}`
}

/**
 * @param folder Configuration folder of the user.
 * @param signIn The command that signs in, for the advice if the system has no store.
 */
export function openStore(kind: StoreKind, folder: string, signIn = 'turnpike login'): CredentialStore {
  return kind === 'file' ? fileStore(folder) : systemStore(loadKeyring, { signIn })
}

const SERVICE = 'turnpike'
/** A store may prompt for a password, which nobody may be there to enter. */
const TIMEOUT_MS = 60_000

/** The used part of the library. */
export interface Keyring {
  readonly AsyncEntry: new (
    ...parameters: ConstructorParameters<typeof AsyncEntry>
  ) => Pick<AsyncEntry, 'getPassword' | 'setPassword' | 'deletePassword'>
}

/** Uses Secret Service, Keychain or Credential Manager. @param load Rejects if the library does not support the platform. */
export function systemStore(
  load: () => Promise<Keyring>,
  { timeoutMs = TIMEOUT_MS, signIn = 'turnpike login' }: { readonly timeoutMs?: number; readonly signIn?: string } = {},
): CredentialStore {
  const at = async <Result>(owner: string, use: (entry: Entry) => Promise<Result>): Promise<Result> => {
    try {
      const { AsyncEntry } = await load()
      // never the kernel's keyring, the library's fallback, which a restart of the machine clears
      const entry = new AsyncEntry(SERVICE, owner, { linux: { store: 'secret-service' } })
      return await inTime(use(entry), timeoutMs)
    } catch (error) {
      throw unusable(error, signIn)
    }
  }
  return {
    kind: 'system',
    check: () => at('check', async (entry) => void (await entry.getPassword())),
    read: (owner) =>
      at(owner, async (entry) => {
        const text = await entry.getPassword()
        return text === null ? undefined : parseTokens(text)
      }),
    write: (owner, tokens) => at(owner, (entry) => entry.setPassword(renderTokens(tokens))),
    remove: (owner) => at(owner, async (entry) => void (await entry.deletePassword())),
  }
}

type Entry = InstanceType<Keyring['AsyncEntry']>

/** Loads the library when needed: it contains native code, which not every platform has. */
async function loadKeyring(): Promise<Keyring> {
  return import('@napi-rs/keyring')
}

async function inTime<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it timed out')), timeoutMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Messages of the library may be long; they never contain the secret. */
function unusable(error: unknown, signIn: string): Error {
  const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  const name = STORES[process.platform] ?? 'The credential store of this system'
  return new Error(
    `${name} is unavailable (${reason.slice(0, 200)}). Store the tokens in a file that only you can read with ` +
      `'${signIn} --insecure-file'; or set an API key in TURNPIKE_API_KEY.`,
    { cause: error },
  )
}

const STORES: Readonly<Partial<Record<NodeJS.Platform, string>>> = {
  linux: "This system's Secret Service",
  darwin: 'The Keychain',
  win32: 'The Credential Manager',
}

export function credentialFile(folder: string): string {
  return join(folder, 'credentials.json')
}

function fileStore(folder: string): CredentialStore {
  const path = credentialFile(folder)
  const change = (edit: (all: Map<string, Tokens>) => void) =>
    withLock(`${path}.lock`, async () => {
      const all = await readAll(path)
      edit(all)
      const texts = [...all].map(([owner, tokens]) => [owner, JSON.parse(renderTokens(tokens))])
      await writePrivateFile(path, `${JSON.stringify(Object.fromEntries(texts), null, 2)}\n`)
    })
  return {
    kind: 'file',
    check: async () => void (await readAll(path)),
    read: async (owner) => (await readAll(path)).get(owner),
    write: (owner, tokens) => change((all) => all.set(owner, tokens)),
    remove: (owner) => change((all) => all.delete(owner)),
  }
}

async function readAll(path: string): Promise<Map<string, Tokens>> {
  const text = await readPrivateFile(path)
  if (text === undefined) return new Map()
  if (await isOpenToOthers(path)) {
    throw new Error(
      `Other users can read ${path}, which contains tokens. Run 'chmod 600 ${path}' and 'turnpike login' again.`,
    )
  }
  const value = parseJson(text)
  if (!isRecord(value)) throw unreadable(path)
  const tokens = Object.entries(value).map(([owner, entry]) => {
    const tokens = parseTokens(JSON.stringify(entry))
    if (tokens === undefined) throw unreadable(path)
    return [owner, tokens] as const
  })
  return new Map(tokens)
}

function unreadable(path: string): Error {
  return new Error(`${path} is invalid. Delete it and run 'turnpike login --insecure-file'.`)
}

export interface Tokens {
  readonly accessToken: string
  /** Unix milliseconds by this machine's clock. */
  readonly expiresAt: number
  /** Undefined: the server issued none, so the sign-in ends with the access token. */
  readonly refreshToken: string | undefined
}

function renderTokens({ accessToken, expiresAt, refreshToken }: Tokens): string {
  return JSON.stringify({ access_token: accessToken, expires_at: expiresAt, refresh_token: refreshToken })
}

/** @returns undefined for an invalid text. */
function parseTokens(text: string): Tokens | undefined {
  const value = parseJson(text)
  if (!isRecord(value)) return undefined
  const { access_token: accessToken, expires_at: expiresAt, refresh_token: refreshToken } = value
  if (!isToken(accessToken) || typeof expiresAt !== 'number') return undefined
  return { accessToken, expiresAt, refreshToken: isToken(refreshToken) ? refreshToken : undefined }
}

const DEFAULT_LIFETIME_S = 3_600

/** Reads a response of a token endpoint (RFC 6749, 5.1). @returns undefined for anything else. */
export function readGrantedTokens(body: unknown, now: number): Tokens | undefined {
  if (!isRecord(body)) return undefined
  const { access_token: accessToken, expires_in: seconds, refresh_token: refreshToken } = body
  if (!isToken(accessToken)) return undefined
  const lifetime = typeof seconds === 'number' && seconds > 0 ? seconds : DEFAULT_LIFETIME_S
  return {
    accessToken,
    expiresAt: now + lifetime * 1_000,
    refreshToken: isToken(refreshToken) ? refreshToken : undefined,
  }
}

/** Whether a value can be a bearer token (RFC 6750, 2.1). */
function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.~+/-]{1,4096}=*$/.test(value)
}
