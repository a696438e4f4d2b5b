/**
 * The configuration with the models and providers that are stored in the database. It is read at the start, and again
 * when the file is reloaded or a process changes stored entries.
 */
import type { Kysely } from 'kysely'
import type { CatalogueEntry } from '../../catalogue/entry.ts'
import { checkUpstreams } from '../config/cross-checks.ts'
import type { Config, FileConfig, ProviderConfig } from '../config/schema.ts'
import { deriveKey } from '../config/secret.ts'
import { ConfigError, originOf, problemText, treeOfJson } from '../config/source-tree.ts'
import { ALLOWED_NAMES, MODEL_SCHEMA, NAME_PATTERN, PROVIDER_SCHEMA } from '../config/upstream-schemas.ts'
import { type SchemaNode, validate } from '../config/validate.ts'
import { type ChangeSource, createChangeFollower } from '../db/changed-at.ts'
import type { OpenedDatabase } from '../db/database.ts'
import type { Database } from '../db/schema/schema.ts'
import type { StoredEntry, StoredKind } from '../domain/stored-setting.ts'
import { storedCatalogue } from '../features/stored-settings/published-catalogue.ts'
import type { StoredSettingsPort } from '../features/stored-settings/routes.ts'
import {
  entriesOf,
  lastChange,
  nextEffectiveAt,
  resealSettings,
  type SealKeys,
  versionsInForce,
} from '../features/stored-settings/store.ts'
import { PROVIDERS, resolveProvider } from '../providers/index.ts'
import type { Log } from '../telemetry/log.ts'
import { catalogueInForce } from './catalogue.ts'

/** A configuration with the catalogue that it overrides. */
export interface Merged {
  readonly config: Config
  readonly catalogue: readonly CatalogueEntry[]
}

export interface MergedConfig extends StoredSettingsPort {
  /** The settings at the start. */
  readonly start: Merged
  /** Follows changes from now on. Calls `apply` again only after the previous call has ended. */
  follow(apply: (merged: Merged) => Promise<void>): void
  /** Applies another file. Rejects without effect if `apply` rejects. */
  reload(file: Config): Promise<void>
  close(): void
}

interface MergedConfigInput {
  /** The configuration of the file and the environment. */
  readonly file: Config
  readonly database: Pick<OpenedDatabase, 'db' | 'onChange'>
  /** The installation's secret. */
  readonly secret: Uint8Array
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: Log
}

const BUILT_IN = Object.keys(PROVIDERS)
/** The longest delay of a timer. */
const LONGEST_DELAY_MS = 2_147_483_647

export async function mergeStoredSettings(input: MergedConfigInput): Promise<MergedConfig> {
  const { db } = input.database
  const sealKeys = settingKeys(input.secret, input.file)
  const merge = (file: Config, entries: readonly StoredEntry[]): Config =>
    withStored(file, entries, BUILT_IN, ({ kind, name }, problems) =>
      input.log.warn({ kind, name, problems }, 'stored setting omitted'),
    )
  let { file } = input
  let apply: (merged: Merged) => Promise<void> = async () => {}
  const inSequence = createSequence()
  const applyFile = (next: Config) =>
    inSequence(async () => {
      await apply({ config: merge(next, entries), catalogue: published.catalogue })
      file = next
    })
  const readAndApply = async () => {
    entries = await reader.read()
    published = await readCatalogue(db)
    await applyFile(file)
  }
  const reader = createReader({ ...input, sealKeys, onDue: () => readAndApply().catch(follower.refresh) })
  const follower = createChangeFollower(changesOf(db, readAndApply))
  await resealSettings(db, sealKeys)
  await follower.ready()
  let entries = await reader.read()
  let published = await readCatalogue(db)
  let unfollow: (() => void) | undefined
  return {
    start: { config: merge(file, entries), catalogue: published.catalogue },
    follow(onChange) {
      apply = onChange
      unfollow = input.database.onChange(() => void follower.refresh())
      void follower.refresh()
    },
    reload: applyFile,
    sealKeys,
    isInFile: (kind, name) => isInFile(file, kind, name),
    publishedRelease: () => published.release,
    problemsOf(entry) {
      const others = entries.filter(({ kind, name }) => kind !== entry.kind || name !== entry.name)
      return problemsOf(entry, withStored(file, others, BUILT_IN))
    },
    changed: follower.refresh,
    close() {
      for (const end of [unfollow, reader.close, follower.close]) end?.()
    },
  }
}

/** The catalogue in force, and the release that signed the published one. */
async function readCatalogue(db: Kysely<Database>) {
  const published = await storedCatalogue(db)
  return { catalogue: catalogueInForce(published), release: published?.release }
}

/** Secrets remain sealed. */
const NO_KEYS: SealKeys = [new Uint8Array(32)]

/** Returns the settings in force now, without the keys of stored providers and without invalid stored entries. */
export async function readMerged(db: Kysely<Database>, file: Config, now: number): Promise<Merged> {
  const entries = entriesOf(await versionsInForce(db, now, NO_KEYS))
  return { config: withStored(file, entries, BUILT_IN), catalogue: catalogueInForce(await storedCatalogue(db)) }
}

function changesOf(db: Kysely<Database>, apply: () => Promise<void>): ChangeSource<number> {
  return {
    latest: () => lastChange(db),
    async applySince(cursor) {
      const latest = await lastChange(db)
      if (latest !== cursor) await apply()
      return latest
    },
  }
}

interface ReaderInput extends Pick<MergedConfigInput, 'database' | 'now'> {
  readonly sealKeys: SealKeys
  /** Called when a scheduled entry takes effect. */
  readonly onDue: () => void
}

function createReader({ database: { db }, now, sealKeys, onDue }: ReaderInput) {
  let timer: NodeJS.Timeout | undefined
  return {
    async read(): Promise<readonly StoredEntry[]> {
      const at = now()
      const next = await nextEffectiveAt(db, at)
      clearTimeout(timer)
      if (next !== undefined) timer = setTimeout(onDue, Math.min(next - at, LONGEST_DELAY_MS)).unref()
      return entriesOf(await versionsInForce(db, at, sealKeys))
    },
    close: () => clearTimeout(timer),
  }
}

/** Runs tasks one after another, whether or not the previous one failed. */
function createSequence(): (work: () => Promise<void>) => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const done = last.then(work)
    last = done.catch(() => undefined)
    return done
  }
}

function problemsOf(entry: StoredEntry, config: Config): readonly string[] {
  try {
    const { providers } = withEntry(config, entry, BUILT_IN)
    const provider = entry.kind === 'provider' ? providers[entry.name] : undefined
    if (provider !== undefined) resolveProvider(entry.name, provider)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    return [error instanceof Error ? error.message : String(error)]
  }
}

/** The current key, and the previous one during a rotation of the installation's secret. */
export function settingKeys(
  secret: Uint8Array,
  { secret_previous: previous }: Pick<Config, 'secret_previous'>,
): SealKeys {
  const purpose = 'stored settings'
  const current = deriveKey(secret, purpose)
  return previous === undefined ? [current] : [current, deriveKey(Buffer.from(previous, 'utf8'), purpose)]
}

type Upstreams = Pick<Config, 'providers' | 'models'>

/** Returns whether the file or the environment has an entry of that name, which then takes precedence. */
function isInFile({ providers, models }: Upstreams, kind: StoredKind, name: string): boolean {
  return kind === 'provider' ? Object.hasOwn(providers, name) : models.some(({ id }) => id === name)
}

/**
 * Returns the configuration with stored entries added to those of the file, without invalid ones.
 * @param onProblem Receives each invalid entry and the reason.
 */
function withStored(
  file: Config,
  entries: readonly StoredEntry[],
  builtInProviders: readonly string[],
  onProblem: (entry: StoredEntry, problems: readonly string[]) => void = () => {},
): Config {
  let config = file
  // Models refer to providers, so providers come first.
  for (const kind of ['provider', 'model'] as const) {
    for (const entry of entries) {
      if (entry.kind !== kind || isInFile(file, kind, entry.name)) continue
      try {
        config = withEntry(config, entry, builtInProviders)
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        onProblem(entry, error.problems)
      }
    }
  }
  return config
}

/**
 * Returns the configuration with an additional entry, which replaces another one of its name.
 * @throws ConfigError whose problems name settings within the entry.
 */
function withEntry(config: Config, entry: StoredEntry, builtInProviders: readonly string[]): Config {
  const { kind, name, settings } = entry
  const problems: string[] = []
  const isModel = kind === 'model'
  const tree = treeOfJson(isModel ? { ...settings, id: name } : settings)
  const schema: SchemaNode = isModel ? MODEL_SCHEMA : PROVIDER_SCHEMA
  if (!isModel && !new RegExp(NAME_PATTERN).test(name)) {
    problems.push(`found the name ${JSON.stringify(name)}, allowed: ${ALLOWED_NAMES}`)
  }
  const value = validate({ schema, node: tree, path: [] }, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  const merged: Config = isModel
    ? { ...config, models: [...config.models.filter(({ id }) => id !== name), value as FileConfig['models'][number]] }
    : { ...config, providers: { ...config.providers, [name]: value as ProviderConfig } }
  // The path of a setting begins with `models` and its index, or `providers` and its name.
  checkUpstreams({ config: merged, builtInProviders }, (path, text) => {
    problems.push(problemText(originOf(tree, path.slice(2)), path.slice(2), text))
  })
  if (problems.length > 0) throw new ConfigError(problems)
  return merged
}
