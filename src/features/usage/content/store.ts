/** Captured prompts and answers: rows, sealed with a key of the installation, each for its account and completion alone. */
import type { Kysely } from 'kysely'
import type { BatchStatement } from '../../../db/database.ts'
import type { Database } from '../../../db/schema/schema.ts'
import { keyName, type Sealer } from '../../../db/sealed.ts'
import { countRows } from '../../../db/shared-queries.ts'
import type { AccountId, CompletionId, KeyId, UserId } from '../../../domain/ids.ts'
import type { PageRequest } from '../../../http/page.ts'
import { BATCH_ROWS, inBatches } from '../../../jobs/batched-deletion.ts'
import { type CompletionFilter, type CompletionRow, matching } from '../completion-list.ts'
import { idsBornIn } from '../period.ts'

/** What is sealed of a completion. */
export interface Content {
  /** `METHOD /path` of the API that the request came by. */
  readonly endpoint: string
  /** JSON text of the request's body. */
  readonly request: string
  /** JSON text of the answer, a chat completion; undefined: there was none. */
  readonly response: string | undefined
}

export interface ContentReference {
  readonly accountId: AccountId
  readonly id: CompletionId
}

export interface ContentSealer extends Pick<Sealer, 'seal' | 'open' | 'renew'> {
  /** Name of the key that seals. */
  readonly keyName: string
}

/** JSON text has no line feed. */
const LINE = '\n'

export function sealContent(
  { endpoint, request, response = '' }: Content,
  of: ContentReference,
  sealer: ContentSealer,
) {
  return sealer.seal([endpoint, request, response].join(LINE), placeOf(of))
}

/** Undefined when it was sealed with a key that is no longer there. */
export function openContent(sealed: Uint8Array, of: ContentReference, sealer: ContentSealer): Content | undefined {
  const text = sealer.open(sealed, placeOf(of))
  if (text === undefined) return undefined
  const [endpoint = '', request = '', response = ''] = text.split(LINE)
  return { endpoint, request, response: response === '' ? undefined : response }
}

/** Seals with the current key what only the key before has sealed; undefined for everything else. */
export function renewContent(sealed: Uint8Array, of: ContentReference, sealer: ContentSealer): Uint8Array | undefined {
  return sealer.renew(sealed, placeOf(of))
}

function placeOf({ accountId, id }: ContentReference): string {
  return `content ${accountId} ${id}`
}

export interface NewContent extends ContentReference {
  readonly keyId: KeyId
  readonly userId: UserId | undefined
  readonly sealed: Uint8Array
  readonly createdAt: number
}

export function insertContent(
  db: Kysely<Database>,
  { accountId, id, keyId, userId, sealed, createdAt }: NewContent,
  { keyName: name }: Pick<ContentSealer, 'keyName'>,
): BatchStatement {
  return db
    .insertInto('completion_content')
    .values({
      account_id: accountId,
      id,
      key_id: keyId,
      user_id: userId ?? null,
      bytes: sealed.length,
      sealed_with: name,
      content: sealed,
      created_at: createdAt,
    })
    .onConflict((conflict) => conflict.doNothing())
    .compile()
}

/** By ID, of those that are there and can be opened. */
export async function readContents(
  { db, sealer }: { readonly db: Kysely<Database>; readonly sealer: ContentSealer },
  accountId: AccountId,
  ids: readonly CompletionId[],
): Promise<ReadonlyMap<CompletionId, Content>> {
  const rows = await db
    .selectFrom('completion_content')
    .select(['id', 'content'])
    .where('account_id', '=', accountId)
    .where('id', 'in', [...ids])
    .execute()
  const contents = new Map<CompletionId, Content>()
  for (const { id, content: sealed } of rows) {
    const content = openContent(sealed, { accountId, id }, sealer)
    if (content !== undefined) contents.set(id, content)
  }
  return contents
}

interface ContentList extends PageRequest<CompletionId> {
  readonly accountId: AccountId
  readonly filter: CompletionFilter
}

/** Completions whose content is stored, by creation. Reads no content. */
export function listCaptured(
  db: Kysely<Database>,
  { accountId, filter, limit, order, after }: ContentList,
): Promise<readonly CompletionRow[]> {
  const range = idsBornIn(filter.period)
  const captured = db
    .selectFrom('completion_content')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '>', range.above)
    .where('id', '<', range.below)
    .$if(after !== undefined, (query) => query.where('id', order === 'asc' ? '>' : '<', after as CompletionId))
  return db
    .selectFrom('completion')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', 'in', captured)
    .$call((query) => matching(query, filter))
    .$if(filter.status !== undefined, (query) => query.where('status', '=', filter.status ?? 'completed'))
    .orderBy('id', order)
    .limit(limit)
    .execute()
}

/** Whose content is deleted; undefined: anybody's. */
export interface ContentOwner {
  readonly accountId: AccountId
  readonly keyId?: KeyId | undefined
  /** Sent when signed in, by a device, or by a key that this person created. */
  readonly userId?: UserId | undefined
  /** Unix milliseconds: only content of completions before. */
  readonly before?: number | undefined
}

/** @returns The number of deleted rows. */
export function deleteContents(db: Kysely<Database>, owner: ContentOwner, signal?: AbortSignal): Promise<number> {
  return inBatches(() => deleteContentBatch(db, owner), signal)
}

/** Deletes at most `BATCH_ROWS`, the oldest first. @returns Their number. */
export async function deleteContentBatch(db: Kysely<Database>, owner: ContentOwner): Promise<number> {
  const oldest = contentsOf(db, owner).select('id').orderBy('created_at').limit(BATCH_ROWS)
  const ofAccount = db.deleteFrom('completion_content').where('account_id', '=', owner.accountId)
  return Number((await ofAccount.where('id', 'in', oldest).executeTakeFirst()).numDeletedRows)
}

export function countContents(db: Kysely<Database>, owner: ContentOwner): Promise<number> {
  return countRows(contentsOf(db, owner))
}

function contentsOf(db: Kysely<Database>, { accountId, keyId, userId, before }: ContentOwner) {
  const keysOfPerson = db
    .selectFrom('api_key')
    .select('id')
    .where(({ and }) => and({ account_id: accountId, created_by: userId as UserId }))
  return db
    .selectFrom('completion_content')
    .where('account_id', '=', accountId)
    .$if(keyId !== undefined, (rows) => rows.where('key_id', '=', keyId as KeyId))
    .$if(userId !== undefined, (rows) =>
      rows.where((is) => is('user_id', '=', userId as UserId).or('key_id', 'in', keysOfPerson)),
    )
    .$if(before !== undefined, (rows) => rows.where('created_at', '<', before ?? 0))
}

/** @returns Whether it was there. */
export async function deleteContent(db: Kysely<Database>, { accountId, id }: ContentReference): Promise<boolean> {
  const deleting = db.deleteFrom('completion_content').where('account_id', '=', accountId).where('id', '=', id)
  return (await deleting.executeTakeFirst()).numDeletedRows > 0n
}

export function sealerNamed(sealer: Sealer, current: Uint8Array): ContentSealer {
  return { ...sealer, keyName: keyName(current) }
}
