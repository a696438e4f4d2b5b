/** The configuration of this process, and `turnpike config`. */
import { processEnvironment } from '../config/environment.ts'
import { type BuiltIn, type ConfigFlags, loadConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { PROVIDERS } from '../providers/index.ts'

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

/** Throws `ConfigError` with every problem of the file, as `serve` would. */
export async function configCheck(file: string): Promise<void> {
  await loadCliConfig({ config: file })
  process.stdout.write(`${file}: ok\n`)
}

export async function configSchema(): Promise<void> {
  const { configJsonSchema } = await import('../config/schema.ts')
  process.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`)
}
