/** Selects the server and the identity of a command. */
import { networkInterfaces } from 'node:os'
import { mergeEnvironment, processEnvironment } from '../../config/environment.ts'
import type { Config } from '../../config/schema.ts'
import { isLoopbackUrl } from '../../lib/ip-address.ts'
import { loadCliConfig } from '../configuration.ts'
import { parseServerUrl, wrongUsage } from '../option-values.ts'
import type { JsonOption } from '../output.ts'
import { type Bearer, keyBearer, loginCommand, profileBearer } from './auth/bearer.ts'
import { openStore } from './auth/credential-store.ts'
import { configFolder } from './auth/private-files.ts'
import { findProfile, openProfiles, type Profile, type Profiles } from './auth/profiles.ts'

export interface TargetOptions {
  readonly url?: string
  readonly profile?: string
}

/** Options of commands that print a response of the server. */
export interface RemoteOptions extends TargetOptions, JsonOption {}

export interface Target {
  /** Without trailing slash. */
  readonly url: string
  readonly bearer: Bearer
  /** Undefined: an API key is used. */
  readonly profile: Profile | undefined
}

/** Uses `--url` or TURNPIKE_URL, else the server signed in to, else that of the local configuration. Rejects with advice. */
export async function chooseTarget(options: TargetOptions): Promise<Target> {
  const folder = configFolder()
  const settings = readSettings()
  const profiles = await openProfiles(folder).read()
  const named = namedProfile(profiles, options.profile)
  const url = options.url ?? (named === undefined ? settings.url : undefined)
  if (url !== undefined && named === undefined && settings.key !== undefined) {
    if (options.url === undefined) settings.refuseStrayUrl()
    return { url, bearer: keyBearer(settings.key), profile: undefined }
  }
  const profile = profileFor(profiles, { named, url })
  if (profile !== undefined) {
    const bearer = profileBearer({ profile, folder, store: openStore(profile.store, folder) })
    return { url: profile.url, bearer, profile }
  }
  if (url !== undefined) throw notSignedIn(url, options.profile ?? 'default')
  if (settings.key === undefined) throw nowhere()
  return { url: localUrl(await loadCliConfig()), bearer: keyBearer(settings.key), profile: undefined }
}

interface Settings {
  readonly url: string | undefined
  readonly key: string | undefined
  /** Throws if the URL is from a file of the working directory and the key is from the user's environment. */
  readonly refuseStrayUrl: () => void
}

const URL_VARIABLE = 'TURNPIKE_URL'
const KEY_VARIABLE = 'TURNPIKE_API_KEY'

/** From the environment, and the `.env` of the working directory. */
function readSettings(): Settings {
  const environment = mergeEnvironment(processEnvironment, process.cwd())
  const text = (name: string) => environment.get(name)?.trim() || undefined
  const key = text(KEY_VARIABLE)
  // an invalid header value would appear in the error message
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) throw new Error(`${KEY_VARIABLE} is not a valid API key.`)
  return {
    url: serverUrl(text(URL_VARIABLE)),
    key,
    refuseStrayUrl() {
      const [urlIsFromFile, keyIsFromFile] = [URL_VARIABLE, KEY_VARIABLE].map((name) =>
        environment.origin(name).startsWith('.env'),
      )
      const url = serverUrl(text(URL_VARIABLE))
      if (!urlIsFromFile || keyIsFromFile || url === undefined || isLoopbackUrl(new URL(url))) return
      throw new Error(
        `${URL_VARIABLE} is in the .env of this folder, but ${KEY_VARIABLE} is your own. Set both in the same file or environment, or pass --url.`,
      )
    },
  }
}

/** A variable of the environment, or of the `.env` of the working directory; undefined: not set, or empty. */
export function readVariable(name: string): string | undefined {
  return mergeEnvironment(processEnvironment, process.cwd()).get(name)?.trim() || undefined
}

/** The server that TURNPIKE_URL names. */
export function urlOfEnvironment(): string | undefined {
  return readSettings().url
}

function serverUrl(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : parseServerUrl(text)
  } catch {
    throw wrongUsage(`${URL_VARIABLE}: an http or https address, such as https://ai.example.com.`)
  }
}

function namedProfile(profiles: Profiles, name: string | undefined): Profile | undefined {
  const profile = findProfile(profiles, name)
  if (name === undefined || profile !== undefined) return profile
  throw new Error(
    `Profile '${name}' does not exist${knownNames(profiles)}. Run 'turnpike login --profile ${name}' to create it.`,
  )
}

export function knownNames({ all }: Profiles): string {
  return all.length === 0 ? '' : `, only ${all.map(({ name }) => `'${name}'`).join(', ')}`
}

interface Wanted {
  readonly named: Profile | undefined
  readonly url: string | undefined
}

function profileFor(profiles: Profiles, { named, url }: Wanted): Profile | undefined {
  const chosen = named ?? findProfile(profiles, profiles.chosen)
  if (url === undefined || chosen?.url === url) return chosen
  if (named === undefined) return profiles.all.findLast((profile) => profile.url === url)
  throw wrongUsage(`--profile ${named.name} is signed in to ${named.url}, not to ${url}.`)
}

function notSignedIn(url: string, profile: string): Error {
  return new Error(`You are not signed in to ${url}. Run '${loginCommand(profile, url)}', or set ${KEY_VARIABLE}.`)
}

function nowhere(): Error {
  return new Error(
    `You are not signed in. Run 'turnpike login --url https://…', or set ${KEY_VARIABLE} and, for a server on another machine, ${URL_VARIABLE}.`,
  )
}

const EVERYWHERE: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])

/** Returns the URL of the local gateway. Rejects other hosts, since a configuration file may come with a cloned folder. */
export function localUrl({ server: { host, port } }: Config): string {
  const address = EVERYWHERE.get(host) ?? host
  const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}`
  const own = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? [])
  if (isLoopbackUrl(new URL(url)) || own.includes(address)) return url
  throw new Error(`HOST is ${address}, which is not an address of this machine. Pass --url ${url} to use it.`)
}
