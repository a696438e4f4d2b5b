/** The configuration of this process, and `turnpike config`. */
import type { CatalogueEntry } from '../../catalogue/entry.ts'
import { processEnvironment } from '../config/environment.ts'
import { type BuiltIn, type ConfigFlags, loadConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { PROVIDERS } from '../providers/index.ts'
import { type JsonOption, jsonLine, printLine } from './output.ts'

/** The configuration of this process: its environment, working directory and flags. Throws `ConfigError`. */
export function loadCliConfig(flags: ConfigFlags = {}): Promise<Config> {
  return loadConfig({ env: processEnvironment, cwd: process.cwd(), builtIn: builtIn(), flags })
}

/** Returns the built-in part of the configuration. */
export function builtIn(): BuiltIn {
  const variables = Object.entries(PROVIDERS).flatMap(([name, { apiKeyVariable }]) =>
    apiKeyVariable === undefined ? [] : [[apiKeyVariable, name] as const],
  )
  const settings = Object.entries(PROVIDERS).flatMap(([name, { settingVariables }]) =>
    settingVariables === undefined ? [] : [[name, settingVariables] as const],
  )
  return {
    builtInProviders: Object.keys(PROVIDERS),
    providerVariables: Object.fromEntries(variables),
    settingVariables: Object.fromEntries(settings),
  }
}

/** Throws `ConfigError` with every problem of the file, as `serve` would. @param file By default that of `serve`. */
export async function configCheck(file: string | undefined, { json }: JsonOption = {}): Promise<void> {
  const config = await loadCliConfig(file === undefined ? {} : { config: file })
  const checked = file ?? config.file ?? null
  const { CATALOGUE } = await import('../../catalogue/index.ts')
  const hints = unusedProviders(config, CATALOGUE).map(unusedHint)
  if (json === true) return void process.stdout.write(jsonLine({ file: checked, ok: true, hints }))
  printLine(`${checked ?? 'The environment'}: ok`)
  for (const hint of hints) printLine(`  → ${hint}`)
}

/** Lists the enabled providers that have a key and that no model is routed to. */
export function unusedProviders(
  { providers, models }: Pick<Config, 'providers' | 'models'>,
  catalogue: readonly CatalogueEntry[],
): readonly string[] {
  const used = new Set(
    [...models, ...catalogue].flatMap(({ deployments = [] }) => deployments.map((one) => one.provider)),
  )
  return Object.entries(providers)
    .filter(([name, { disabled, api_key: key, api_keys: keys = [] }]) => {
      const hasKey = [key ?? '', ...keys].some((secret) => secret !== '')
      return disabled !== true && hasKey && !used.has(name)
    })
    .map(([name]) => name)
}

export function unusedHint(provider: string): string {
  const unused = `The provider ${provider} has a key, but no model of the configuration or the catalogue uses it`
  return `${unused}: add it to \`deployments\` of a model under \`models\`.`
}

export async function configSchema(): Promise<void> {
  const { configJsonSchema } = await import('../config/schema.ts')
  process.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`)
}
