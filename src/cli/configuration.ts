/** The configuration of this process, and `turnpike config`. */
import { processEnvironment } from '../config/environment.ts'
import { type BuiltIn, type ConfigFlags, loadConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { PROVIDERS } from '../providers/index.ts'
import { type JsonOption, printLine } from './output.ts'

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
  const text = json === true ? JSON.stringify({ file: checked, ok: true }) : `${checked ?? 'The environment'}: ok`
  printLine(text)
}

export async function configSchema(): Promise<void> {
  const { configJsonSchema } = await import('../config/schema.ts')
  process.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`)
}
