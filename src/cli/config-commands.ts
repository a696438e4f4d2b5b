/**
 * `turnpike config explain`, `turnpike config diff` and `turnpike config export`: settings in force, where they come
 * from, what a reload changes; and what is stored in the database, as it would stand in a file.
 */
import { existsSync } from 'node:fs'
import { stringify } from 'yaml'
import { settingKeys } from '../app/stored-settings.ts'
import { configChanges, type ExplainedSetting, explainConfig, settingsBelow } from '../config/explain.ts'
import type { Config } from '../config/schema.ts'
import { loadSecret } from '../config/secret.ts'
import { databaseLocation } from '../db/open.ts'
import { entriesOf, splitSecrets, versionsInForce } from '../features/stored-settings/store.ts'
import type { Json } from '../lib/json.ts'
import { wrappedTable } from '../lib/table.ts'
import { loadCliConfig } from './configuration.ts'
import { withDatabase } from './database.ts'
import { type JsonOption, jsonLine, plainTable, printLine } from './output.ts'

/** Prints each setting with its value and its source. Throws where there is no setting of that path. */
export async function configExplain(path: string | undefined, { json }: JsonOption): Promise<void> {
  const config = await loadCliConfig()
  const all = [...explainConfig(config), ...(await storedSettings(config))]
  const settings = settingsBelow(all, path)
  if (settings.length === 0) throw new Error(`No setting ${path} is set. Run 'turnpike config explain' to see all.`)
  if (json === true) process.stdout.write(jsonLine({ file: config.file ?? null, settings }))
  else {
    const rows = settings.map(({ path: name, value, origin }) => [name, textOf(value), origin])
    process.stdout.write(plainTable(['SETTING', 'VALUE', 'SOURCE'], rows, wrappedTable))
  }
}

/** Models and providers that are stored in the database; none where there is no database yet. */
async function storedSettings(config: Config): Promise<readonly ExplainedSetting[]> {
  const location = databaseLocation(config)
  if ('path' in location && !existsSync(location.path)) return []
  return withDatabase(async ({ db, now }) => {
    const keys = settingKeys(await loadSecret(config), config)
    return entriesOf(await versionsInForce(db, now(), keys)).map(({ kind, name, settings }) => {
      const { shown, secrets } = splitSecrets(settings)
      const value = { ...shown, ...(secrets !== undefined && { api_key: '(secret)' }) }
      return { path: `${kind}s[${JSON.stringify(name)}]`, value, origin: 'database' }
    })
  }, config)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '(not set)' : JSON.stringify(value)
}

/** Prints what a reload with this file would change in the present configuration, and what needs a restart. */
export async function configDiff(file: string, { json }: JsonOption): Promise<void> {
  const changes = configChanges(await loadCliConfig(), await loadCliConfig({ config: file }))
  if (json === true) {
    const shown = changes.map(({ before = null, after = null, ...change }) => ({ ...change, before, after }))
    process.stdout.write(jsonLine({ changes: shown }))
  } else if (changes.length === 0) printLine('No setting changes.')
  else {
    const rows = changes.map(({ path, before, after, reloadable }) => {
      return [path, textOf(before), textOf(after), reloadable ? 'reload' : 'restart']
    })
    process.stdout.write(plainTable(['SETTING', 'NOW', 'THEN', 'APPLIED BY'], rows, wrappedTable))
  }
}

/** Prints the models and providers that are stored in the database, as they would stand in a file. */
export async function configExport(): Promise<void> {
  await withDatabase(async ({ db, config, now }) => {
    const keys = settingKeys(await loadSecret(config), config)
    const entries = entriesOf(await versionsInForce(db, now(), keys))
    const providers = entries
      .filter(({ kind }) => kind === 'provider')
      .map(({ name, settings }) => {
        const { shown, secrets = {} } = splitSecrets(settings)
        const variables = Object.entries(secrets).map(([setting, value]) => [setting, variablesFor(name, value)])
        return [name, { ...literal(shown ?? {}), ...Object.fromEntries(variables) }] as const
      })
    const models = entries
      .filter(({ kind }) => kind === 'model')
      .map(({ name, settings }) => literal({ id: name, ...settings }))
    process.stdout.write(stringify({ providers: Object.fromEntries(providers), models }))
  })
}

/** `${NAME_API_KEY}`; for several keys `${NAME_API_KEY_1}` and so on. */
function variablesFor(name: string, value: unknown): string | readonly string[] {
  const variable = `${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_API_KEY`
  return Array.isArray(value) ? value.map((_, at) => `\${${variable}_${at + 1}}`) : `\${${variable}}`
}

/** A file replaces `${NAME}` by a variable; `$${` is the text itself. */
function literal(settings: Json): Json {
  return JSON.parse(JSON.stringify(settings), (_, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('${', () => '$${') : value,
  )
}
