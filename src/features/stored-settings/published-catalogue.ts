/**
 * A published catalogue: the text of a JSON object and its signature (Ed25519) by the publisher, its versions in the
 * database, and what it changes. The text is signed as it is, so that no two readers can disagree about what was
 * signed.
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
  /** The release of Turnpike that published it; undefined: another publisher, or a release before 0.3.0. */
  readonly release?: string | undefined
}

/** @param privateKey PEM. @returns the text of the file. */
export function signCatalogue({ publishedAt, models, release }: PublishedCatalogue, privateKey: string): string {
  const signed = JSON.stringify({ published_at: publishedAt, release, models })
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
  const { published_at: publishedAt, models, release } = isRecord(catalogue) ? catalogue : {}
  if (typeof publishedAt !== 'string' || parseIsoTime(publishedAt) === undefined || !isRecords(models)) {
    throw new Error('The catalogue has no `published_at` or no list of `models`.')
  }
  return { publishedAt, models, ...(isRelease(release) && { release }) }
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

/* Versions of releases: `0.3.0`. */

const RELEASE = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/

/** Whether it is the version of a release, which is not one of a preview (`0.3.0-rc.1`). */
export function isRelease(version: unknown): version is string {
  return typeof version === 'string' && RELEASE.test(version)
}

/** @param version Of a release. @param running Also of a preview, which comes before its release. */
export function isNewerRelease(version: string, running: string): boolean {
  const [base = '', preview] = running.split(/[-+](.*)/s)
  const numbers = (text: string) => RELEASE.exec(text)?.slice(1).map(Number)
  const [one, other] = [numbers(version), numbers(base)]
  if (one === undefined || other === undefined) return false
  const at = one.findIndex((number, index) => number !== other[index])
  if (at === -1) return preview !== undefined && running.startsWith(`${base}-`)
  return (one[at] ?? 0) > (other[at] ?? 0)
}

/*
 * The published catalogue in the database: each one that was applied is a version, as those of other stored settings.
 */

const KIND = 'catalogue'
const NAME = 'published'

interface Stored extends Pick<PublishedCatalogue, 'models' | 'release'> {
  readonly published_at: string
}

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
  const { published_at: publishedAt, ...rest } = JSON.parse(row.settings) as Stored
  return { publishedAt, ...rest }
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
  const { publishedAt, models, release } = catalogue ?? {}
  const settings = catalogue && { published_at: publishedAt, release, models }
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

/* What another catalogue changes, for people who decide about it, and which prices it raises. */

/** Prices that rise beyond it need consent. */
const MOST_RISE = 2

export interface CatalogueChanges {
  /** One line each, in the order of IDs. */
  readonly lines: readonly string[]
  /** Lines of prices that rise to more than `MOST_RISE` times. */
  readonly rises: readonly string[]
}

/** Where a figure was read says nothing about what it is. */
const UNSHOWN: ReadonlySet<string> = new Set(['source', 'settled', 'note', 'id'])

export function catalogueChanges(before: readonly Json[], after: readonly Json[]): CatalogueChanges {
  const [old, next] = [byId(before), byId(after)]
  const lines: string[] = []
  const rises: string[] = []
  for (const id of [...new Set([...old.keys(), ...next.keys()])].sort()) {
    const [one, other] = [old.get(id), next.get(id)]
    if (one === undefined) lines.push(`+ ${id}${priceOf(other)}`)
    else if (other === undefined) lines.push(`- ${id}`)
    else {
      lines.push(...changesOf(id, one, other))
      rises.push(...risesOf(id, one, other))
    }
  }
  return { lines, rises }
}

function byId(models: readonly Json[]): ReadonlyMap<string, Json> {
  return new Map(models.map((model) => [String(model['id']), model]))
}

function priceOf(model: Json | undefined): string {
  const pricing = model?.['pricing']
  if (!isRecord(pricing)) return ' (no price)'
  return ` (${pricing['input_per_million']} in, ${pricing['output_per_million']} out per million tokens)`
}

function changesOf(id: string, before: Json, after: Json): readonly string[] {
  const [old, next] = [leavesOf(before), leavesOf(after)]
  return [...new Set([...old.keys(), ...next.keys()])]
    .filter((path) => old.get(path) !== next.get(path))
    .map((path) => `~ ${id} ${path}: ${shown(old.get(path))} → ${shown(next.get(path))}`)
}

function shown(value: unknown): string {
  return value === undefined ? '—' : String(value)
}

type Leaf = string | number | boolean | null

/** The values of an entry by their paths. */
function leavesOf(value: unknown, path = ''): ReadonlyMap<string, Leaf> {
  if (typeof value !== 'object' || value === null) return new Map([[path, value as Leaf]])
  const leaves = new Map<string, Leaf>()
  for (const [name, part] of Object.entries(value)) {
    if (part === undefined || (path === '' && UNSHOWN.has(name))) continue
    for (const [inner, leaf] of leavesOf(part, path === '' ? name : `${path}.${name}`)) leaves.set(inner, leaf)
  }
  return leaves
}

function risesOf(id: string, before: Json, after: Json): readonly string[] {
  const [old, next] = [pricesOf(before), pricesOf(after)]
  if (old.size === 0) return [] // it could not be called before
  return [...next].flatMap(([path, leaf]) => {
    const earlier = old.get(path) ?? baseOf(old, path)
    if (typeof leaf !== 'number' || earlier === undefined || !isRise(path, earlier, leaf)) return []
    return [`! ${id} pricing.${path}: ${earlier} → ${leaf}`]
  })
}

function pricesOf({ pricing }: Json): ReadonlyMap<string, number> {
  const leaves = isRecord(pricing) ? leavesOf(pricing) : new Map<string, Leaf>()
  return new Map([...leaves].filter((entry): entry is [string, number] => typeof entry[1] === 'number'))
}

const THRESHOLD = 'above_prompt_tokens'

/** A threshold that falls makes the tier apply to more prompts. */
function isRise(path: string, earlier: number, later: number): boolean {
  return path.endsWith(THRESHOLD) ? later * MOST_RISE < earlier : later > earlier * MOST_RISE
}

/** Fees of a call and of an image are none where they are not set. */
const FEE = /(?:^|\.)per_(?:request|image)_usd$/

/** What a figure without a predecessor stood for before; undefined: nothing, such as the fee of a new tool. */
function baseOf(prices: ReadonlyMap<string, number>, path: string): number | undefined {
  if (FEE.test(path)) return 0
  const [name = ''] = path.split('.').slice(-1)
  if (!name.endsWith('_per_million')) return undefined
  return prices.get(name) ?? prices.get(/output/.test(name) ? 'output_per_million' : 'input_per_million')
}
