import { stringify } from 'yaml'
import { settingKeys } from '../app/stored-settings.ts'
import { loadSecret } from '../config/secret.ts'
import { entriesOf, splitSecrets, versionsInForce } from '../features/stored-settings/store.ts'
import type { Json } from '../lib/json.ts'
import { withDatabase } from './database.ts'

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
