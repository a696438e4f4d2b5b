import { styleText } from 'node:util'
import type { Config } from '../config/schema.ts'
import { loadCliConfig } from './context.ts'
import { checkAgents } from './doctor-agents.ts'
import {
  type Check,
  checkClock,
  checkDatabase,
  checkDataDirectory,
  checkNode,
  failed,
  messageOf,
  passed,
} from './doctor-machine.ts'
import { checkPort, checkProviders } from './doctor-network.ts'
import { checkPrices } from './doctor-prices.ts'

export interface DoctorOptions {
  readonly json?: boolean
}

/** Looks at everything, says what is wrong and how to mend it. Exit code 1 if anything is wrong. Changes nothing. */
export async function doctor({ json = false }: DoctorOptions): Promise<void> {
  const checks = await examine(() => loadCliConfig())
  const ok = checks.every((check) => check.ok)
  process.stdout.write(json ? `${JSON.stringify({ ok, checks }, null, 2)}\n` : checks.map(renderCheck).join(''))
  if (!ok) process.exitCode = 1
}

/** @param load Rejects with `ConfigError` when the configuration is bad; what depends on it is then not checked. */
export async function examine(load: () => Promise<Config>): Promise<readonly Check[]> {
  const config = await load().catch((error: unknown) => messageOf(error))
  const independent = { node: checkNode(process.versions.node), clock: checkClock() }
  if (typeof config === 'string') {
    const fix = 'Mend what the lines above name; docs/configuration.md lists every setting.'
    const unknown = ['data_directory', 'database', 'port', 'providers', 'agents', 'prices'].map((name) =>
      failed(name, 'not checked, since the configuration cannot be used', 'Mend the configuration first.'),
    )
    return [independent.node, failed('configuration', config, fix), ...unknown, independent.clock]
  }
  const configuration = passed('configuration', config.file ?? 'no file; environment and defaults')
  const dependent = await Promise.all([
    checkDataDirectory(config.data_dir),
    checkDatabase(config),
    checkPort(config.server),
    checkProviders(config.providers),
    checkAgents(config.agents),
    checkPrices(config),
  ])
  return [independent.node, configuration, ...dependent, independent.clock]
}

function renderCheck({ ok, name, message, fix }: Check): string {
  const mark = styleText(ok ? 'green' : 'red', ok ? '✓' : '✗', { stream: process.stdout })
  const text = message.replaceAll('\n', '\n    ')
  return `${mark} ${name}: ${text}\n${fix === null ? '' : `  → ${fix}\n`}`
}
