/** The published catalogue in the database: each one that was applied is a version, as those of other stored settings. */
import type { Kysely } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { Json } from '../../lib/json.ts'
import type { PublishedCatalogue } from './catalogue-file.ts'

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
