import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { readSecretFile } from './secret.ts'
import { childOf, isSet, overlay, type SourceNode } from './source-tree.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The environment of this process. Nothing else reads it. */
export const processEnvironment: Environment = process.env

/** Tells a process of `serve --processes` its number. */
export const PROCESS_VARIABLE = 'TURNPIKE_PROCESS'
/** From 1; undefined: no other process shares the port. */
export const processNumber =
  processEnvironment[PROCESS_VARIABLE] === undefined ? undefined : Number(processEnvironment[PROCESS_VARIABLE])

/** Environment variable → the setting it sets. */
export const SETTING_VARIABLES: ReadonlyMap<string, readonly string[]> = new Map([
  ['TURNPIKE_DATA_DIR', ['data_dir']],
  ['HOST', ['server', 'host']],
  ['PORT', ['server', 'port']],
  ['TURNPIKE_PUBLIC_URL', ['server', 'public_url']],
  ['DATABASE_URL', ['database_url']],
  ['REDIS_URL', ['redis_url']],
  ['TURNPIKE_SECRET', ['secret']],
  ['TURNPIKE_SECRET_PREVIOUS', ['secret_previous']],
  ['LOG_LEVEL', ['log_level']],
  ['LOG_FORMAT', ['log', 'format']],
  ['STRIPE_SECRET_KEY', ['stripe', 'secret_key']],
  ['STRIPE_WEBHOOK_SECRET', ['stripe', 'webhook_secret']],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', ['telemetry', 'otlp_endpoint']],
])

/** The process's environment over the `.env` of its working directory. */
export interface MergedEnvironment {
  /** A variable of the process, even an empty one, hides that of the file. */
  readonly get: (name: string) => string | undefined
  /** Where a variable comes from, for messages. */
  readonly origin: (name: string) => string
  /** Returns the names of the variables that begin with a prefix. */
  readonly names: (prefix: string) => readonly string[]
  readonly problems: readonly string[]
}

/** A variable `NAME_FILE` is the path of a file with the value of `NAME`. */
export const VARIABLE_FILE_SUFFIX = '_FILE'

function isUnset(value: string | undefined): boolean {
  return value === undefined || value === ''
}

/** @param cwd Folder of `.env`, which is optional. */
export function mergeEnvironment(env: Environment, cwd: string): MergedEnvironment {
  const problems: string[] = []
  const file = readDotEnv(cwd, problems)
  const isHere = (name: string) => Object.hasOwn(env, name)
  const direct = (name: string) => (isHere(name) ? env[name] : Object.hasOwn(file, name) ? file[name] : undefined)
  const place = (name: string) => `${isHere(name) ? 'environment' : '.env'}: ${name}`
  const contents = new Map<string, string | undefined>()
  const fromFile = (name: string): string | undefined => {
    const path = direct(name + VARIABLE_FILE_SUFFIX)
    if (path === undefined || path === '') return undefined
    if (contents.has(name)) return contents.get(name)
    const text = readSecretFile(resolve(cwd, path))
    if (typeof text !== 'string') {
      problems.push(`${place(name + VARIABLE_FILE_SUFFIX)}: found a file that cannot be read (${text.code})`)
    }
    const content = typeof text === 'string' ? text : undefined
    contents.set(name, content)
    return content
  }
  const isInFile = (name: string) => isUnset(direct(name)) && fromFile(name) !== undefined
  return {
    get: (name) => (isInFile(name) ? fromFile(name) : direct(name)),
    origin: (name) => place(isInFile(name) ? name + VARIABLE_FILE_SUFFIX : name),
    names: (prefix) => Object.keys({ ...file, ...env }).filter((name) => name.startsWith(prefix)),
    problems,
  }
}

/** Overrides settings of the file with those of the environment. An empty variable sets nothing. */
export function overlayEnvironment(tree: SourceNode, environment: MergedEnvironment): void {
  for (const [name, path] of SETTING_VARIABLES) {
    const value = environment.get(name)
    if (value !== undefined && value !== '') overlay(tree, path, { value, origin: environment.origin(name) })
  }
}

/**
 * Gives providers the keys that the environment has for them: adds a provider that the file does not name, and completes
 * one that it names without a key.
 * @param providerVariables Environment variable → name of the built-in provider.
 */
export function overlayProviderKeys(
  tree: SourceNode,
  environment: MergedEnvironment,
  providerVariables: Readonly<Record<string, string>>,
): void {
  for (const [variable, provider] of Object.entries(providerVariables)) {
    overlayProvider(tree, environment, { provider, variables: { api_key: variable }, addsProvider: true })
  }
}

/** Completes exports to S3-compatible storage that name no region. */
export function overlayExportRegions(tree: SourceNode, environment: MergedEnvironment): void {
  const name = 'AWS_REGION'
  const value = environment.get(name)
  const exports = childOf(tree, 'exports')
  if (isUnset(value) || exports?.content.type !== 'list') return
  for (const each of exports.content.items) {
    const url = childOf(each, 'url')?.content
    const isBucket = url?.type === 'scalar' && String(url.value).startsWith('s3:')
    if (isBucket && !isSet(childOf(each, 'region')))
      overlay(each, ['region'], { value: value ?? '', origin: environment.origin(name) })
  }
}

/**
 * Completes settings that the file omits in its providers. The variables add no provider, since machines also set them
 * for other purposes.
 * @param settingVariables Name of the built-in provider → setting → environment variable.
 */
export function overlayProviderSettings(
  tree: SourceNode,
  environment: MergedEnvironment,
  settingVariables: Readonly<Record<string, Readonly<Record<string, string>>>>,
): void {
  for (const [provider, variables] of Object.entries(settingVariables)) {
    overlayProvider(tree, environment, { provider, variables, addsProvider: false })
  }
}

interface ProviderVariables {
  /** Name of the built-in provider. */
  readonly provider: string
  /** Setting → environment variable. */
  readonly variables: Readonly<Record<string, string>>
  readonly addsProvider: boolean
}

/**
 * Also completes providers under another name with `kind`, unless they have an address of their own, which must not
 * receive another host's key.
 */
function overlayProvider(
  tree: SourceNode,
  environment: MergedEnvironment,
  { provider, variables, addsProvider }: ProviderVariables,
): void {
  for (const name of [provider, ...namesOfKind(tree, provider)]) {
    for (const [setting, variable] of Object.entries(variables)) {
      const value = environment.get(variable)
      const entry = childOf(childOf(tree, 'providers'), name)
      const hasKeys = setting === 'api_key' && isSet(childOf(entry, 'api_keys'))
      if (value === undefined || value === '' || hasKeys || isSet(childOf(entry, setting))) continue
      if (entry !== undefined || addsProvider)
        overlay(tree, ['providers', name, setting], { value, origin: environment.origin(variable) })
    }
  }
}

function namesOfKind(tree: SourceNode, kind: string): string[] {
  const providers = childOf(tree, 'providers')
  if (providers?.content.type !== 'mapping') return []
  return [...providers.content.entries].flatMap(([name, { node }]) => {
    const content = childOf(node, 'kind')?.content
    const isOfKind = content?.type === 'scalar' && content.value === kind
    return isOfKind && name !== kind && !isSet(childOf(node, 'base_url')) ? [name] : []
  })
}

function readDotEnv(cwd: string, problems: string[]): Environment {
  try {
    return parseEnv(readFileSync(join(cwd, '.env'), 'utf8'))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
    if (code !== 'ENOENT') problems.push(`.env: cannot be read (${code})`)
    return {}
  }
}
