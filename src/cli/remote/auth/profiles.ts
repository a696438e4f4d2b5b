/** The servers that the user is signed in to, by profile, without their tokens, which are in a `CredentialStore`. */
import { join } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { isRecord, parseJson, textOf } from '../../../lib/json.ts'
import { readPrivateFile, withLock, writePrivateFile } from './private-files.ts'

export const FIRST_PROFILE = 'default'
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** Where tokens are: the operating system's credential store, or a file. */
export type StoreKind = 'system' | 'file'

export interface Profile {
  readonly name: string
  /** URL of the server, without trailing slash. */
  readonly url: string
  readonly clientId: string
  readonly store: StoreKind
  /** Who signed in, if the server reported it. */
  readonly email: string | undefined
  readonly account: string | undefined
}

export interface Profiles {
  /** The profile without `--profile`; undefined: not signed in. */
  readonly chosen: string | undefined
  readonly all: readonly Profile[]
}

export interface ProfileBook {
  readonly folder: string
  read(): Promise<Profiles>
  /** Edits the file under an exclusive lock. */
  change(edit: (profiles: Profiles) => Profiles): Promise<Profiles>
}

export function parseProfileName(text: string): string {
  if (NAME.test(text)) return text
  throw new InvalidArgumentError('Allowed: letters, digits, dots, dashes and underscores, at most 64.')
}

export function openProfiles(folder: string): ProfileBook {
  const path = join(folder, 'profiles.json')
  const read = async () => parseProfiles((await readPrivateFile(path)) ?? '{}', path)
  return {
    folder,
    read,
    change: (edit) =>
      withLock(join(folder, 'profiles.lock'), async () => {
        const profiles = edit(await read())
        await writePrivateFile(path, renderProfiles(profiles))
        return profiles
      }),
  }
}

export function findProfile({ all }: Profiles, name: string | undefined): Profile | undefined {
  return all.find((profile) => profile.name === name)
}

/** Adds or replaces a profile, and makes it the default. */
export function withProfile({ all }: Profiles, profile: Profile): Profiles {
  return { chosen: profile.name, all: [...all.filter(({ name }) => name !== profile.name), profile] }
}

/** Removes a profile. If it was the chosen one, the most recent of the others becomes it. */
export function withoutProfile({ chosen, all }: Profiles, name: string): Profiles {
  const left = all.filter((profile) => profile.name !== name)
  return { chosen: chosen === name ? left.at(-1)?.name : chosen, all: left }
}

function renderProfiles({ chosen, all }: Profiles): string {
  const profiles = all.map(({ name, url, clientId, store, email, account }) => [
    name,
    { url, client_id: clientId, store, email, account },
  ])
  return `${JSON.stringify({ default: chosen, profiles: Object.fromEntries(profiles) }, null, 2)}\n`
}

function parseProfiles(text: string, path: string): Profiles {
  const book = parseJson(text)
  const entries = isRecord(book) ? (book['profiles'] ?? {}) : undefined
  const all = isRecord(entries) ? Object.entries(entries).map(([name, entry]) => parseProfile(name, entry)) : []
  if (!isRecord(book) || !isRecord(entries) || !all.every((profile) => profile !== undefined)) {
    throw new Error(`${path} is invalid. Fix it, or delete it and run 'turnpike login'.`)
  }
  const chosen = all.find(({ name }) => name === book['default']) ?? all.at(-1)
  return { chosen: chosen?.name, all }
}

function parseProfile(name: string, entry: unknown): Profile | undefined {
  if (!NAME.test(name) || !isRecord(entry)) return undefined
  const { url, client_id: clientId, store, email, account } = entry
  const address = URL.parse(textOf(url))
  if (address === null || typeof clientId !== 'string') return undefined
  return {
    name,
    url: address.href.replace(/\/+$/, ''),
    clientId,
    store: store === 'file' ? 'file' : 'system',
    email: textOf(email) || undefined,
    account: textOf(account) || undefined,
  }
}
