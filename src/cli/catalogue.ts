/** `turnpike catalogue`: pull a published catalogue into the database, and what its publisher needs. */
import { generateKeyPairSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { CATALOGUE } from '../../catalogue/index.ts'
import { catalogueProblems, pullCatalogue } from '../app/catalogue.ts'
import {
  isRelease,
  publicKeyText,
  signCatalogue,
  storeCatalogue,
} from '../features/stored-settings/published-catalogue.ts'
import { lockSettings } from '../features/stored-settings/store.ts'
import type { Json } from '../lib/json.ts'
import { auditCommand, chosenAccount, withDatabase } from './database.ts'
import { wrongUsage } from './option-values.ts'
import { grouped, type JsonOption, jsonLine, note, plainText, print, printResult, progress } from './output.ts'

export interface CataloguePullOptions extends JsonOption {
  readonly from?: string
  readonly publicKey?: string
  readonly accept?: boolean
  readonly dryRun?: boolean
}

/** Prints what changes, and applies it in every process at once. Fails without effect where a price rises much. */
export async function cataloguePull(options: CataloguePullOptions): Promise<void> {
  const { from, accept = false, dryRun = false } = options
  await withDatabase(async (context) => {
    const { db, config, now } = context
    const publicKey = options.publicKey ?? config.catalogue.public_key
    const source = from ?? config.catalogue.url
    if (source === undefined) throw wrongUsage('--from: required, since `catalogue.url` is not set.')
    const { id: accountId } = await chosenAccount(context, undefined)
    progress('Fetching the catalogue…')
    const { lines, rises, refused, publishedAt } = await pullCatalogue({
      db,
      config: { catalogue: publicKey === undefined ? {} : { public_key: publicKey } },
      from: source,
      isAccepted: accept,
      isDryRun: dryRun,
      now,
      audit: (inside, details) =>
        auditCommand(context, inside, { accountId, action: 'catalogue.changed', subject: undefined, details }),
    })
    const isChanged = !dryRun && refused === undefined
    if (options.json === true)
      await print(jsonLine({ published_at: publishedAt, changes: lines, rises, applied: isChanged }))
    else if (lines.length > 0) await print(plainText(`${[...lines, ...rises].join('\n')}\n`))
    if (refused !== undefined)
      throw new Error(`Nothing was changed: ${refused} Run this again with --accept to apply it.`)
    const done = dryRun ? 'Nothing was changed (--dry-run).' : 'It is in force in every process within a second.'
    note(`Catalogue of ${publishedAt}: ${grouped(lines.length)} changes. ${done}`)
  })
}

/** The built-in catalogue applies again. */
export async function catalogueReset(options: JsonOption): Promise<void> {
  await withDatabase(async (context) => {
    const { id: accountId } = await chosenAccount(context, undefined)
    await context.db.transaction().execute(async (inside) => {
      await lockSettings(inside)
      await storeCatalogue(inside, undefined, context.now())
      const change = { accountId, action: 'catalogue.removed', subject: undefined, details: {} }
      await auditCommand(context, inside, change)
    })
    printResult(options, { object: 'catalogue', deleted: true }, 'The built-in catalogue applies again.')
  })
}

/** Writes a private key, which exists only there, and prints its public key. */
export async function catalogueKeygen({ out, ...options }: JsonOption & { readonly out: string }): Promise<void> {
  const privateKey = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  await writeFile(out, privateKey, { mode: 0o600, flag: 'wx' })
  const publicKey = publicKeyText(privateKey)
  printResult(options, { private_key_file: out, public_key: publicKey }, publicKey)
}

export interface CatalogueSignOptions extends JsonOption {
  readonly key: string
  readonly out: string
  /** JSON list of entries. */
  readonly models?: string
}

/** Signs entries as the publisher: those of a file, by default those of this release. */
export async function catalogueSign(
  { key, out, models: path, ...options }: CatalogueSignOptions,
  version: string,
): Promise<void> {
  const models: unknown = path === undefined ? CATALOGUE : JSON.parse(await readFile(path, 'utf8'))
  if (!Array.isArray(models)) throw wrongUsage('--models: allowed: a file with a JSON list of entries.')
  const entries: readonly Json[] = JSON.parse(JSON.stringify(models))
  const problems = catalogueProblems(entries)
  if (problems.length > 0) throw new Error(`The catalogue cannot be used: ${problems.slice(0, 5).join('; ')}`)
  const privateKey = await readFile(key, 'utf8')
  const publishedAt = new Date().toISOString()
  const release = path === undefined && isRelease(version) ? version : undefined
  await writeFile(out, signCatalogue({ publishedAt, release, models: entries }, privateKey))
  const publicKey = publicKeyText(privateKey)
  const view = { file: out, models: entries.length, public_key: publicKey, published_at: publishedAt }
  printResult(options, view, `Signed ${grouped(entries.length)} models for publishers' key ${publicKey}.`)
}
