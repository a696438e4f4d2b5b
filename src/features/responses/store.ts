/** The stored responses of accounts: their content, which is sealed, and statements on both databases. */
import { type Kysely, sql } from 'kysely'
import type { BatchStatement } from '../../db/database.ts'
import type { Database, ResponseTable } from '../../db/schema/schema.ts'
import { keyName, type SealerKeys, seal, unseal } from '../../db/sealed.ts'
import type { AccountId } from '../../domain/ids.ts'
import { MAX_ARRAY_ITEMS } from '../../domain/json-body.ts'
import { pageAfter, resealJob, resealRows } from '../../jobs/batched-deletion.ts'
import { createBatcher } from '../../jobs/batcher.ts'
import type { JobKind } from '../../jobs/job.ts'
import { createStorageRoom } from '../../jobs/storage-room.ts'

/** Statements of one transaction. */
const BATCH_STATEMENTS = 50
/** Rows that are read at once, which may each be as large as `responses.max_bytes`. */
const READ_ROWS = 100

export interface NewResponse extends ResponseReference {
  readonly previousId: string | undefined
  readonly content: ResponseContent
  /** Of the request and of the output. */
  readonly items: number
}

/** A response of a conversation, without its content. */
export interface Link {
  readonly id: string
  readonly items: number
  readonly itemsBytes: number
}

export interface Chain {
  /** The oldest first. */
  readonly links: readonly Link[]
  /** The response that is not stored any more, where the conversation does not reach its beginning. */
  readonly missingId: string | undefined
}

export interface ResponseStore {
  /** Resolves when it is committed. */
  insert(response: NewResponse): Promise<void>
  /** @returns Whether it was there. */
  remove(reference: ResponseReference): Promise<boolean>
  find(reference: ResponseReference): Promise<StoredResponse | undefined>
  /**
   * A response and those that it continues, up to `maxBytes` of items and the link that exceeds them, and to as many links as
   * a body may have items.
   */
  chain(reference: ResponseReference, maxBytes: number): Promise<Chain>
  /** The responses that are there, with items and without content. */
  links(accountId: AccountId, ids: readonly string[]): Promise<readonly Link[]>
  /** By ID, of those that are there. */
  contents(accountId: AccountId, ids: readonly string[]): Promise<ReadonlyMap<string, ResponseContent>>
}

export interface StoredResponse {
  readonly previousId: string | undefined
  readonly content: ResponseContent
}

interface StoreInput {
  readonly db: Kysely<Database>
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
  readonly keys: SealerKeys
  /** Of an account. */
  readonly maxBytes: () => number
  /** Unix milliseconds. */
  readonly now: () => number
}

export function createResponseStore({ db, batch, keys, maxBytes, now }: StoreInput): ResponseStore {
  const room = createStorageRoom({ db, table: 'response', maxBytes, now })
  const queue = createBatcher({ size: BATCH_STATEMENTS }, async (statements: readonly BatchStatement[]) => {
    await batch(statements)
    return statements.map(() => undefined)
  })
  return {
    async insert(response) {
      const sealed = sealContent(response.content, response, keys)
      await room.take(response.accountId, sealed.length)
      await queue(insertStatement(db, response, { sealed, keys, now: now() }))
    },
    async remove({ accountId, id }) {
      const removal = db.deleteFrom('response').where('account_id', '=', accountId).where('id', '=', id)
      return (await removal.executeTakeFirst()).numDeletedRows > 0n
    },
    async find(reference) {
      const { accountId, id } = reference
      const row = await db
        .selectFrom('response')
        .select(['previous_id', 'content'])
        .where('account_id', '=', accountId)
        .where('id', '=', id)
        .executeTakeFirst()
      const content = row && openContent(row.content, reference, keys)
      return content && { previousId: row.previous_id ?? undefined, content }
    },
    chain: (reference, maxBytes) => readChain(db, reference, maxBytes),
    async links(accountId, ids) {
      const rows = await db
        .selectFrom('response')
        .select(['id', 'items', 'items_bytes as itemsBytes'])
        .where('account_id', '=', accountId)
        .where('id', 'in', [...ids])
        .execute()
      return rows
    },
    contents: (accountId, ids) => readContents({ db, keys }, accountId, ids),
  }
}

function insertStatement(
  db: Kysely<Database>,
  response: NewResponse,
  { sealed, keys, now }: { readonly sealed: Uint8Array; readonly keys: SealerKeys; readonly now: number },
): BatchStatement {
  const { accountId, id, previousId, content, items } = response
  return db
    .insertInto('response')
    .values({
      account_id: accountId,
      id,
      previous_id: previousId ?? null,
      items,
      items_bytes: Buffer.byteLength(content.items),
      bytes: sealed.length,
      sealed_with: keyName(keys.current),
      content: sealed,
      created_at: now,
    })
    .compile()
}

interface ChainRow {
  readonly id: string
  readonly previous_id: string | null
  readonly items: number
  readonly items_bytes: number
}

async function readChain(db: Kysely<Database>, { accountId, id }: ResponseReference, maxBytes: number): Promise<Chain> {
  const { rows } = await sql<ChainRow>`
    with recursive chain (id, previous_id, items, items_bytes, depth, total) as (
      select id, previous_id, items, items_bytes, 1, items_bytes from response
      where account_id = ${accountId} and id = ${id}
      union all
      select earlier.id, earlier.previous_id, earlier.items, earlier.items_bytes, chain.depth + 1,
        chain.total + earlier.items_bytes
      from chain join response as earlier on earlier.account_id = ${accountId} and earlier.id = chain.previous_id
      where chain.total <= ${sql.lit(maxBytes)} and chain.depth < ${sql.lit(MAX_ARRAY_ITEMS)}
    )
    select id, previous_id, items, items_bytes from chain order by depth desc
  `.execute(db)
  const links = rows.map((row) => ({ id: row.id, items: row.items, itemsBytes: row.items_bytes }))
  const [oldest] = rows
  return { links, missingId: oldest === undefined ? id : (oldest.previous_id ?? undefined) }
}

async function readContents(
  { db, keys }: Pick<StoreInput, 'db' | 'keys'>,
  accountId: AccountId,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ResponseContent>> {
  const contents = new Map<string, ResponseContent>()
  for (let at = 0; at < ids.length; at += READ_ROWS) {
    const rows = await db
      .selectFrom('response')
      .select(['id', 'content'])
      .where('account_id', '=', accountId)
      .where('id', 'in', ids.slice(at, at + READ_ROWS))
      .execute()
    for (const { id, content: sealed } of rows) {
      const content = openContent(sealed, { accountId, id }, keys)
      if (content !== undefined) contents.set(id, content)
    }
  }
  return contents
}

/*
 * What a stored response is kept as: sealed with a key of the installation, each for its account and ID alone. Three
 * lines, since the items of a conversation are joined without being parsed: counts, the response without its output,
 * the items.
 */

export interface ResponseContent {
  /** Items of the request: the first ones; the others are the output. */
  readonly inputItems: number
  /** JSON text of the response without its output. */
  readonly response: string
  /** JSON texts of the items, joined with commas. */
  readonly items: string
}

interface ResponseReference {
  readonly accountId: AccountId
  readonly id: string
}

/** JSON text has no line feed. */
const LINE = '\n'

function sealContent(content: ResponseContent, reference: ResponseReference, { current }: SealerKeys) {
  const { inputItems, response, items } = content
  return seal([inputItems, response, items].join(LINE), current, placeOf(reference))
}

/** Undefined when it was sealed with a key that is no longer there. */
function openContent(
  sealed: Uint8Array,
  reference: ResponseReference,
  { current, previous }: SealerKeys,
): ResponseContent | undefined {
  const place = placeOf(reference)
  const text = unseal(sealed, current, place) ?? (previous && unseal(sealed, previous, place))
  if (text === undefined) return undefined
  const [inputItems = '', response = '', items = ''] = text.split(LINE)
  return { inputItems: Number(inputItems), response, items }
}

function placeOf({ accountId, id }: ResponseReference): string {
  return `response ${accountId} ${id}`
}

// Seals stored responses again while the installation's secret is being changed.

interface ResealInput {
  readonly db: Kysely<Database>
  readonly keys: SealerKeys
}

/** Small, since a row may be as large as `responses.max_bytes`. */
const PAGE_ROWS = 20

/** None unless there is a previous key. */
export function resealJobs(input: ResealInput): Readonly<Record<string, JobKind>> {
  if (input.keys.previous === undefined) return {}
  return resealJob('responses.reseal', (signal) => resealResponses(input, signal))
}

/** @returns The number of responses. */
export function resealResponses({ db, keys }: ResealInput, signal?: AbortSignal): Promise<number> {
  const page = (last: SealedRow | undefined) =>
    db
      .selectFrom('response')
      .select(['account_id', 'id', 'content'])
      .where('sealed_with', '<>', keyName(keys.current))
      .$call(pageAfter(last, PAGE_ROWS))
      .execute()
  return resealRows({ page, reseal: (row) => resealOne(db, row, keys) }, signal)
}

type SealedRow = Pick<ResponseTable, 'account_id' | 'id' | 'content'>

/** @returns false if no key opens it. */
async function resealOne(db: Kysely<Database>, row: SealedRow, keys: SealerKeys): Promise<boolean> {
  const reference = { accountId: row.account_id, id: row.id }
  const content = openContent(row.content, reference, keys)
  if (content === undefined) return false
  await db
    .updateTable('response')
    .set({ content: sealContent(content, reference, keys), sealed_with: keyName(keys.current) })
    .where('account_id', '=', row.account_id)
    .where('id', '=', row.id)
    .execute()
  return true
}
