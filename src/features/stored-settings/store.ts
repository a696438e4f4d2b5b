/** Rows of stored settings: a version for each change, in force from its `effective_from` on. */
import { type Kysely, type Selectable, sql } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { Database, StoredSettingTable } from '../../db/schema/schema.ts'
import { seal, unseal } from '../../db/sealed.ts'
import { SECRET_SETTINGS, STORED_KINDS, type StoredEntry, type StoredKind } from '../../domain/stored-setting.ts'
import { type Json, parseJson } from '../../lib/json.ts'

/** The current key, then the previous one during a change of the installation's secret. */
export type SealKeys = readonly [Uint8Array, ...Uint8Array[]]

export interface StoredVersion {
  readonly kind: StoredKind
  readonly name: string
  /** From 1. */
  readonly version: number
  /** Unix milliseconds. */
  readonly effectiveFrom: number
  /** With its secrets; undefined: removed. */
  readonly settings: Json | undefined
  readonly createdBy: string | null
  readonly createdAt: number
}

export interface NewVersion {
  readonly kind: StoredKind
  readonly name: string
  readonly settings: Json | undefined
  readonly effectiveFrom: number
  readonly createdBy: string | null
}

/** Writes a version, in the caller's transaction. Serialized, so that numbers have no gaps. */
export async function addVersion(
  db: Kysely<Database>,
  { kind, name, settings, effectiveFrom, createdBy }: NewVersion,
  { keys, now }: { readonly keys: SealKeys; readonly now: number },
): Promise<StoredVersion> {
  const { shown, secrets } = splitSecrets(settings)
  const row = await db
    .insertInto('stored_setting')
    .values({
      kind,
      name,
      version: sql<number>`(select coalesce(max(version), 0) + 1 from stored_setting where kind = ${kind} and name = ${name})`,
      changed_at: nextChangedAt('stored_setting', now),
      effective_from: effectiveFrom,
      settings: shown === undefined ? null : JSON.stringify(shown),
      secrets: secrets === undefined ? null : seal(JSON.stringify(secrets), keys[0], placeOf(kind, name)),
      created_by: createdBy,
      created_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toVersion(row, keys)
}

/** Serializes changes of settings until the transaction commits. To be called first. */
export function lockSettings(transaction: Parameters<typeof acquireAdvisoryLock>[0]): Promise<void> {
  return acquireAdvisoryLock(transaction, 'stored settings')
}

/** Versions in force at `now`, removed ones included, in the order of names. */
export async function versionsInForce(db: Kysely<Database>, now: number, keys: SealKeys): Promise<StoredVersion[]> {
  const rows = await db
    .selectFrom('stored_setting as each')
    .selectAll()
    .where('kind', 'in', STORED_KINDS)
    .where('effective_from', '<=', now)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('stored_setting as later')
            .select('later.version')
            .whereRef('later.kind', '=', 'each.kind')
            .whereRef('later.name', '=', 'each.name')
            .whereRef('later.version', '>', 'each.version')
            .where('later.effective_from', '<=', now),
        ),
      ),
    )
    .orderBy('kind')
    .orderBy('name')
    .execute()
  return rows.map((row) => toVersion(row, keys))
}

/** When the next version takes effect, Unix milliseconds; undefined: none is to come. */
export async function nextEffectiveAt(db: Kysely<Database>, now: number): Promise<number | undefined> {
  const row = await db
    .selectFrom('stored_setting')
    .select(({ fn }) => fn.min<number | null>('effective_from').as('at'))
    .where('effective_from', '>', now)
    .executeTakeFirst()
  return row?.at ?? undefined
}

/** `changed_at` of the latest change; 0: there is none. */
export async function lastChange(db: Kysely<Database>): Promise<number> {
  const row = await db
    .selectFrom('stored_setting')
    .select(({ fn }) => fn.max<number | null>('changed_at').as('at'))
    .executeTakeFirst()
  return Number(row?.at ?? 0)
}

interface VersionsPage {
  readonly kind: StoredKind
  readonly name: string
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** Number of the last version of the page before. */
  readonly after: string | undefined
}

export async function listVersions(db: Kysely<Database>, page: VersionsPage, keys: SealKeys): Promise<StoredVersion[]> {
  const { kind, name, limit, order, after } = page
  const rows = await db
    .selectFrom('stored_setting')
    .selectAll()
    .where('kind', '=', kind)
    .where('name', '=', name)
    .$if(after !== undefined, (query) => query.where('version', order === 'asc' ? '>' : '<', Number(after)))
    .orderBy('version', order)
    .limit(limit)
    .execute()
  return rows.map((row) => toVersion(row, keys))
}

/** Seals with the current key what only a previous one opens. @returns How many rows. */
export async function resealSettings(db: Kysely<Database>, [current, ...previous]: SealKeys): Promise<number> {
  const rows = await db.selectFrom('stored_setting').selectAll().where('secrets', 'is not', null).execute()
  let resealed = 0
  for (const { kind, name, version, secrets } of rows) {
    const place = placeOf(kind, name)
    if (secrets === null || unseal(secrets, current, place) !== undefined) continue
    const text = openWith(previous, secrets, place)
    if (text === undefined) continue
    await db
      .updateTable('stored_setting')
      .set({ secrets: seal(text, current, place) })
      .where('kind', '=', kind)
      .where('name', '=', name)
      .where('version', '=', version)
      .execute()
    resealed += 1
  }
  return resealed
}

/** Entries that are not removed. */
export function entriesOf(versions: readonly StoredVersion[]): StoredEntry[] {
  return versions.flatMap(({ kind, name, settings }) => (settings === undefined ? [] : [{ kind, name, settings }]))
}

/** The settings, and those that are secret. */
export function splitSecrets(settings: Json | undefined): { shown: Json | undefined; secrets: Json | undefined } {
  if (settings === undefined) return { shown: undefined, secrets: undefined }
  const entries = Object.entries(settings)
  const secrets = entries.filter(([name]) => SECRET_SETTINGS.has(name))
  return {
    shown: Object.fromEntries(entries.filter(([name]) => !SECRET_SETTINGS.has(name))),
    secrets: secrets.length === 0 ? undefined : Object.fromEntries(secrets),
  }
}

function toVersion(row: Selectable<StoredSettingTable>, keys: SealKeys): StoredVersion {
  const place = placeOf(row.kind, row.name)
  const secrets = row.secrets === null ? undefined : openWith(keys, row.secrets, place)
  const settings = row.settings === null ? undefined : (parseJson(row.settings) as Json)
  return {
    kind: row.kind as StoredKind,
    name: row.name,
    version: row.version,
    effectiveFrom: row.effective_from,
    settings: settings && { ...settings, ...(secrets !== undefined && (parseJson(secrets) as Json)) },
    createdBy: row.created_by,
    createdAt: row.created_at,
  }
}

function openWith(keys: readonly Uint8Array[], sealed: Uint8Array, place: string): string | undefined {
  for (const key of keys) {
    const text = unseal(sealed, key, place)
    if (text !== undefined) return text
  }
  return undefined
}

function placeOf(kind: string, name: string): string {
  return `stored setting ${kind} ${name}`
}
