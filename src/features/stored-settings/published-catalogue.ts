/**
 * A published catalogue: the text of a JSON object and its signature (Ed25519) by the publisher. The text is signed as it
 * is, so that no two readers can disagree about what was signed.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import type { Kysely } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database } from '../../db/schema/schema.ts'
import { isRecord, type Json, parseJson } from '../../lib/json.ts'
import { parseIsoTime } from '../../lib/time.ts'

const FORMAT = 'turnpike.catalogue/1'
/** What precedes a raw Ed25519 key in its usual encoding (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

export interface PublishedCatalogue {
  /** ISO 8601 UTC. */
  readonly publishedAt: string
  /** Not checked yet. */
  readonly models: readonly Json[]
}

/** @param privateKey PEM. @returns the text of the file. */
export function signCatalogue({ publishedAt, models }: PublishedCatalogue, privateKey: string): string {
  const signed = JSON.stringify({ published_at: publishedAt, models })
  const signature = sign(null, Buffer.from(signed), createPrivateKey(privateKey)).toString('base64')
  return `${JSON.stringify({ format: FORMAT, signature, signed }, undefined, 2)}\n`
}

/**
 * @param publicKey 32 bytes in base64.
 * @throws Error for a file that this publisher has not signed.
 */
export function openCatalogue(text: string, publicKey: string): PublishedCatalogue {
  const file = parseJson(text)
  if (!isRecord(file) || file['format'] !== FORMAT) throw new Error(`The file is no catalogue (${FORMAT}).`)
  const { signature, signed } = file
  if (typeof signature !== 'string' || typeof signed !== 'string') throw new Error('The catalogue is not signed.')
  if (!verify(null, Buffer.from(signed), publicKeyOf(publicKey), Buffer.from(signature, 'base64'))) {
    throw new Error('The signature of the catalogue is not that of its publisher: `catalogue.public_key`.')
  }
  const catalogue = parseJson(signed)
  const { published_at: publishedAt, models } = isRecord(catalogue) ? catalogue : {}
  if (typeof publishedAt !== 'string' || parseIsoTime(publishedAt) === undefined || !isRecords(models)) {
    throw new Error('The catalogue has no `published_at` or no list of `models`.')
  }
  return { publishedAt, models }
}

function isRecords(value: unknown): value is readonly Json[] {
  return Array.isArray(value) && value.every(isRecord)
}

function publicKeyOf(base64: string): KeyObject {
  const raw = Buffer.from(base64, 'base64')
  if (raw.length !== 32) throw new Error('`catalogue.public_key` is not an Ed25519 key: 32 bytes in base64.')
  return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' })
}

/** As `catalogue.public_key` has it. @param privateKey PEM. */
export function publicKeyText(privateKey: string): string {
  const encoded = createPublicKey(createPrivateKey(privateKey)).export({ type: 'spki', format: 'der' })
  return encoded.subarray(SPKI_PREFIX.length).toString('base64')
}

/*
 * The published catalogue in the database: each one that was applied is a version, as those of other stored settings.
 */

const KIND = 'catalogue'
const NAME = 'published'

/** Undefined: none was applied, or it was removed. */
export async function storedCatalogue(db: Kysely<Database>): Promise<PublishedCatalogue | undefined> {
  const row = await db
    .selectFrom('stored_setting')
    .select('settings')
    .where('kind', '=', KIND)
    .where('name', '=', NAME)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined || row.settings === null) return undefined
  const { published_at: publishedAt, models } = JSON.parse(row.settings) as { published_at: string; models: Json[] }
  return { publishedAt, models }
}

/** In a transaction that has locked the settings. @param catalogue Undefined: the built-in one applies again. */
export async function storeCatalogue(
  db: Kysely<Database>,
  catalogue: PublishedCatalogue | undefined,
  now: number,
): Promise<void> {
  const { version } = await db
    .selectFrom('stored_setting')
    .select(({ fn }) => fn.max<number | null>('version').as('version'))
    .where('kind', '=', KIND)
    .where('name', '=', NAME)
    .executeTakeFirstOrThrow()
  const settings = catalogue && { published_at: catalogue.publishedAt, models: catalogue.models }
  await db
    .insertInto('stored_setting')
    .values({
      kind: KIND,
      name: NAME,
      version: Number(version ?? 0) + 1,
      changed_at: nextChangedAt('stored_setting', now),
      effective_from: now,
      settings: settings === undefined ? null : JSON.stringify(settings),
      secrets: null,
      created_by: null,
      created_at: now,
    })
    .execute()
}
