/**
 * File, environment and flags in; one frozen, validated `Config` out. This folder alone reads the process's
 * environment. It knows nothing of providers beyond the names it is given, and opens nothing but the file and `.env`.
 */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { crossCheck } from './cross-checks.ts'
import {
  type Environment,
  type MergedEnvironment,
  mergeEnvironment,
  overlayEnvironment,
  overlayProviderKeys,
  overlayProviderSettings,
} from './environment.ts'
import { CONFIG_SCHEMA_TREE, type Config, type FileConfig, mergePlans } from './schema.ts'
import { ConfigError, emptyTree, overlay, problemText, type SourceNode } from './source-tree.ts'
import { validate } from './validate.ts'
import { readYaml, type YamlSource } from './yaml-source.ts'

const STANDARD_FILE = 'turnpike.yaml'

/** What the rest of the house knows by itself. */
export interface BuiltIn {
  /** Names of the providers in the registry. */
  readonly builtInProviders: readonly string[]
  /** Environment variable → name of the built-in provider that it switches on. */
  readonly providerVariables: Readonly<Record<string, string>>
  /** Name of a built-in provider → setting → environment variable that fills it where the file leaves it open. */
  readonly settingVariables?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** Command-line flags; they win over everything. */
export interface ConfigFlags {
  /** Path of the file, instead of `TURNPIKE_CONFIG`. */
  readonly config?: string
  readonly host?: string
  readonly port?: number
}

export interface ConfigSources {
  readonly env: Environment
  /** Where relative paths, `.env` and the standard file are looked for. Absolute. */
  readonly cwd: string
  readonly builtIn: BuiltIn
  readonly flags?: ConfigFlags
}

/** Throws `ConfigError` with every problem there is. */
export async function loadConfig({ env, cwd, builtIn, flags = {} }: ConfigSources): Promise<Config> {
  const environment = mergeEnvironment(env, cwd)
  const { tree, problems, file } = await readFileSource({ environment, cwd, named: flags.config })
  overlayEnvironment(tree, environment)
  overlayProviderKeys(tree, environment, builtIn.providerVariables)
  overlayProviderSettings(tree, environment, builtIn.settingVariables ?? {})
  overlayFlags(tree, flags)
  const fileConfig = check(tree, builtIn, [...environment.problems, ...problems])
  const config: Config = {
    ...fileConfig,
    data_dir: resolve(cwd, fileConfig.data_dir),
    server: {
      ...fileConfig.server,
      public_url: fileConfig.server.public_url ?? `http://localhost:${fileConfig.server.port}`,
    },
    plans: mergePlans(fileConfig.plans),
    ...(file === undefined ? {} : { file }),
  }
  return deepFreeze(config)
}

interface FileSource extends YamlSource {
  readonly file: string | undefined
}

interface NamedFile {
  readonly environment: MergedEnvironment
  readonly cwd: string
  readonly named: string | undefined
}

async function readFileSource({ environment, cwd, named }: NamedFile): Promise<FileSource> {
  const variable = environment.get('TURNPIKE_CONFIG')
  const wanted = named ?? (variable === '' ? undefined : variable)
  const fileName = wanted ?? STANDARD_FILE
  const file = resolve(cwd, fileName)
  try {
    const text = await readFile(file, 'utf8')
    return { ...(await readYaml({ text, fileName, variable: environment.get })), file }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
    if (code === undefined) throw error
    if (code === 'ENOENT' && wanted === undefined) return { tree: emptyTree(''), problems: [], file: undefined }
    const reason = code === 'ENOENT' ? 'there is no such file' : `cannot be read (${code})`
    return { tree: emptyTree(''), problems: [`${fileName}: ${reason}`], file: undefined }
  }
}

function overlayFlags(tree: SourceNode, { host, port }: ConfigFlags): void {
  if (host !== undefined) overlay(tree, ['server', 'host'], { value: host, origin: '--host' })
  if (port !== undefined) overlay(tree, ['server', 'port'], { value: String(port), origin: '--port' })
}

/** Cross-checks run only on what is valid by itself. */
function check(tree: SourceNode, builtIn: BuiltIn, earlier: readonly string[]): FileConfig {
  const problems = [...earlier]
  const config = validate({ schema: CONFIG_SCHEMA_TREE, node: tree, path: [] }, problems) as FileConfig
  if (problems.length === 0) {
    const { builtInProviders } = builtIn
    crossCheck({ config, builtInProviders }, (path, text) => problems.push(problemText(tree, path, text)))
  }
  if (problems.length > 0) throw new ConfigError(inFileOrder(problems))
  return config
}

/** By line and column, since each problem begins with its place. */
function inFileOrder(problems: readonly string[]): string[] {
  return problems.toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }))
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const part of Object.values(value)) deepFreeze(part)
  return value
}

/**
 * The configuration after a reload: providers, models, plans and routing of `next`, all else as it was started with.
 * Throws `ConfigError` if the plan that new accounts get is gone, which only a restart can mend.
 */
export function reloadable(previous: Config, next: Config): Config {
  const { providers, models, plans, routing } = next
  const plan = previous.accounts.default_plan
  if (plans[plan] === undefined) {
    throw new ConfigError([
      `plans: found no plan ${JSON.stringify(plan)}, which accounts.default_plan of the running service names; keep it, or restart`,
    ])
  }
  return Object.freeze({ ...previous, providers, models, plans, routing })
}
