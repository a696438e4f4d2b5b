/** Where tokens are kept: the operating system's credential store, or, on request, a file. */
import type { AsyncEntry } from '@napi-rs/keyring'
import { fileStore } from './credential-file.ts'
import type { StoreKind } from './profiles.ts'
import { parseTokens, renderTokens, type Tokens } from './tokens.ts'

export interface CredentialStore {
  readonly kind: StoreKind
  /** Rejects, with what to do about it, when tokens cannot be kept here. */
  check(): Promise<void>
  read(owner: string): Promise<Tokens | undefined>
  write(owner: string, tokens: Tokens): Promise<void>
  /** Whether they were there or not. */
  remove(owner: string): Promise<void>
}

/** What tokens are filed under. */
export function ownerOf({ name, url }: { readonly name: string; readonly url: string }): string {
  return `${name} at ${url}`
}

/**
 * @param folder Of a person's configuration, for the file.
 * @param signIn The command that signs in, for what to do where the system has no store.
 */
export function openStore(kind: StoreKind, folder: string, signIn = 'turnpike login'): CredentialStore {
  return kind === 'file' ? fileStore(folder) : systemStore(loadKeyring, { signIn })
}

const SERVICE = 'turnpike'
/** A store may ask for a password; who is not there cannot give it. */
const PATIENCE_MS = 60_000

/** Of the library, what is used. */
export interface Keyring {
  readonly AsyncEntry: new (
    ...parameters: ConstructorParameters<typeof AsyncEntry>
  ) => Pick<AsyncEntry, 'getPassword' | 'setPassword' | 'deletePassword'>
}

/** Secret Service, Keychain, Credential Manager. @param load Rejects where the library has nothing for this platform. */
export function systemStore(
  load: () => Promise<Keyring>,
  {
    patienceMs = PATIENCE_MS,
    signIn = 'turnpike login',
  }: { readonly patienceMs?: number; readonly signIn?: string } = {},
): CredentialStore {
  const at = async <Result>(owner: string, use: (entry: Entry) => Promise<Result>): Promise<Result> => {
    try {
      const { AsyncEntry } = await load()
      // never the kernel's keyring, which the library would fall back to: it forgets at the next start of the machine
      const entry = new AsyncEntry(SERVICE, owner, { linux: { store: 'secret-service' } })
      return await inTime(use(entry), patienceMs)
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

/** Loaded only here: it brings a library of machine code, which not every platform has. */
async function loadKeyring(): Promise<Keyring> {
  return import('@napi-rs/keyring')
}

async function inTime<Result>(work: Promise<Result>, patienceMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it did not answer')), patienceMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** What the library says of a failure can go on for paragraphs; it never has the secret. */
function unusable(error: unknown, signIn: string): Error {
  const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  const name = STORES[process.platform] ?? 'The credential store of this system'
  return new Error(
    `${name} cannot be used (${reason.slice(0, 200)}). Tokens can be kept in a file that only you can read, with ` +
      `'${signIn} --insecure-file'; or use an API key instead, in TURNPIKE_API_KEY.`,
    { cause: error },
  )
}

const STORES: Readonly<Partial<Record<NodeJS.Platform, string>>> = {
  linux: "This system's Secret Service",
  darwin: 'The Keychain',
  win32: 'The Credential Manager',
}
