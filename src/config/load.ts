/**
 * Loads file, environment and flags into one frozen, validated `Config`. Only this folder reads the environment of the
 * process. It knows providers by the names that it is given, and opens only the file and `.env`.
 */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { crossCheck } from './cross-checks.ts'
import {
  type Environment,
  type MergedEnvironment,
  mergeEnvironment,
  overlayEnvironment,
  overlayExportRegions,
  overlayProviderKeys,
  overlayProviderSettings,
} from './environment.ts'
import { originsOf } from './explain.ts'
import { readOtel } from './otel-variables.ts'
import { CONFIG_SCHEMA_TREE, type Config, type FileConfig, mergePlans, RELOADABLE } from './schema.ts'
import { readSecretFiles } from './secret.ts'
import { ConfigError, emptyTree, originOf, overlay, problemText, type SourceNode } from './source-tree.ts'
import { validate } from './validate.ts'
import { readYaml, type YamlSource } from './yaml-source.ts'

const STANDARD_FILE = 'turnpike.yaml'

/** Built-in providers. */
export interface BuiltIn {
  /** Names of the providers in the registry. */
  readonly builtInProviders: readonly string[]
  /** Environment variable → name of the built-in provider that it adds. */
  readonly providerVariables: Readonly<Record<string, string>>
  /** Name of a built-in provider → setting → environment variable for it where the file omits it. */
  readonly settingVariables?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** Command-line flags; they override everything. */
export interface ConfigFlags {
  /** Path of the file, instead of `TURNPIKE_CONFIG`. */
  readonly config?: string
  readonly host?: string
  readonly port?: number
  /** A number, or `auto`. */
  readonly processes?: string
}

interface ConfigSources {
  readonly env: Environment
  /** Folder of relative paths, `.env` and the standard file. Absolute. */
  readonly cwd: string
  readonly builtIn: BuiltIn
  readonly flags?: ConfigFlags
}

/** Throws `ConfigError` with all problems. */
export async function loadConfig({ env, cwd, builtIn, flags = {} }: ConfigSources): Promise<Config> {
  const environment = mergeEnvironment(env, cwd)
  const { tree, problems, file } = await readFileSource(environment, cwd, flags.config)
  overlayEnvironment(tree, environment)
  overlayProviderKeys(tree, environment, builtIn.providerVariables)
  overlayProviderSettings(tree, environment, builtIn.settingVariables ?? {})
  overlayExportRegions(tree, environment)
  overlayFlags(tree, flags)
  const secretProblems: string[] = []
  readSecretFiles({ schema: CONFIG_SCHEMA_TREE, node: tree, path: [], cwd }, secretProblems)
  const fileConfig = check(tree, builtIn, [...environment.problems, ...problems, ...secretProblems])
  const config: Config = {
    ...fileConfig,
    data_dir: resolve(cwd, fileConfig.data_dir),
    server: {
      ...fileConfig.server,
      public_url:
        fileConfig.server.public_url ??
        `http${fileConfig.server.tls === undefined ? '' : 's'}://localhost:${fileConfig.server.port}`,
    },
    plans: mergePlans(fileConfig.plans),
    otel: readOtel(environment, fileConfig.telemetry.otlp_endpoint),
    ...(file === undefined ? {} : { file }),
    origins: originsOf(tree),
  }
  return deepFreeze(config)
}

/** Returns the problems of a configuration in an environment; none: it is valid. */
export async function checkText(text: string, { env, builtIn }: Pick<ConfigSources, 'env' | 'builtIn'>) {
  const variable = (name: string) => env[name]
  const { tree, problems } = await readYaml({ text, fileName: STANDARD_FILE, variable })
  try {
    check(tree, builtIn, problems)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

/** @param named File of the command line. */
async function readFileSource(
  environment: MergedEnvironment,
  cwd: string,
  named: string | undefined,
): Promise<YamlSource & { readonly file?: string }> {
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
    if (code === 'ENOENT' && wanted === undefined) return { tree: emptyTree(''), problems: [] }
    const reason = code === 'ENOENT' ? 'there is no such file' : `cannot be read (${code})`
    return { tree: emptyTree(''), problems: [`${fileName}: ${reason}`] }
  }
}

function overlayFlags(tree: SourceNode, { host, port, processes }: ConfigFlags): void {
  if (host !== undefined) overlay(tree, ['server', 'host'], { value: host, origin: '--host' })
  if (port !== undefined) overlay(tree, ['server', 'port'], { value: String(port), origin: '--port' })
  if (processes !== undefined) overlay(tree, ['server', 'processes'], { value: processes, origin: '--processes' })
}

/** Cross-checks run only without other problems. */
function check(tree: SourceNode, builtIn: BuiltIn, earlier: readonly string[]): FileConfig {
  const problems = [...earlier]
  const config = validate({ schema: CONFIG_SCHEMA_TREE, node: tree, path: [] }, problems) as FileConfig
  if (problems.length === 0) {
    const { builtInProviders } = builtIn
    crossCheck({ config, builtInProviders }, (path, text) =>
      problems.push(problemText(originOf(tree, path), path, text)),
    )
  }
  if (problems.length > 0) throw new ConfigError(inFileOrder(problems))
  return config
}

/** By line and column: each problem begins with its position. */
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
 * Returns the configuration after a reload: providers, models, virtual models, plans, routing, responses and
 * invoices of `next`, everything else of `previous`.
 * Throws `ConfigError` if `next` lacks the plan of new accounts, which only a restart changes.
 */
export function reloadable(previous: Config, next: Config): Config {
  const { providers, models, virtual_models, plans, routing, responses, invoices } = next
  const plan = previous.accounts.default_plan
  if (plans[plan] === undefined) {
    throw new ConfigError([
      `plans: found no plan ${JSON.stringify(plan)}, which accounts.default_plan of the running service names; keep it, or restart`,
    ])
  }
  const origins = Object.freeze({ ...originsWhere(previous, false), ...originsWhere(next, true) })
  return Object.freeze({ ...previous, providers, models, virtual_models, plans, routing, responses, invoices, origins })
}

/** The origins of the sections that a reload applies, or of all others. */
function originsWhere({ origins }: Config, reloads: boolean): Readonly<Record<string, string>> {
  const isReloaded = (path: string) => RELOADABLE.some((name) => name === /^\w+/.exec(path)?.[0])
  return Object.fromEntries(Object.entries(origins).filter(([path]) => isReloaded(path) === reloads))
}
