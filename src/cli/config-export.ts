import { stringify } from 'yaml'
import { settingKeys } from '../app/stored-settings.ts'
import { loadSecret } from '../config/secret.ts'
import { entriesOf, splitSecrets, versionsInForce } from '../features/stored-settings/store.ts'
import { withDatabase } from './database.ts'

/** Prints the models and providers that are stored in the database, as they would stand in a file. */
export async function configExport(): Promise<void> {
  await withDatabase(async ({ db, config, now }) => {
    const keys = settingKeys(await loadSecret(config), config)
    const entries = entriesOf(await versionsInForce(db, now(), keys))
    const providers = entries
      .filter(({ kind }) => kind === 'provider')
      .map(({ name, settings }) => {
        const { shown, secrets } = splitSecrets(settings)
        const variable = `\${${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_API_KEY}`
        return [name, { ...shown, ...(secrets !== undefined && { api_key: variable }) }] as const
      })
    const models = entries
      .filter(({ kind }) => kind === 'model')
      .map(({ name, settings }) => ({ id: name, ...settings }))
    process.stdout.write(stringify({ providers: Object.fromEntries(providers), models }))
  })
}
