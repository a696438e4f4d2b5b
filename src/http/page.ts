/**
 * Lists in pages: the envelope, the three query parameters, and cursors that are opaque, signed, and good only for the
 * account, list, filter and order they were given out for.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { type TSchema, Type } from 'typebox'
import { GatewayError } from '../domain/errors.ts'

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100
const SIGNATURE_BYTES = 16
const MAX_CURSOR_LENGTH = 512
/** What clients send that write out an absent `next_cursor`: no cursor has these values, since all are signed. */
const FIRST_PAGE: ReadonlySet<string> = new Set(['', 'null'])

/** Properties of a list's query string. */
export const PAGE_QUERY = {
  limit: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum: MAX_LIMIT }), Type.String()], {
      default: DEFAULT_LIMIT,
      description: `Items in the page, 1 to ${MAX_LIMIT}.`,
    }),
  ),
  cursor: Type.Optional(
    Type.String({ description: '`next_cursor` of the previous page. Empty or `null`: the first page.' }),
  ),
  order: Type.Optional(
    Type.Unsafe<'asc' | 'desc'>({ type: 'string', enum: ['asc', 'desc'], default: 'desc', description: 'By time.' }),
  ),
}

export interface PageSizes {
  readonly usual: number
  readonly most: number
}

const SIZES: PageSizes = { usual: DEFAULT_LIMIT, most: MAX_LIMIT }

export interface PageQuery {
  readonly limit?: string | number | undefined
  readonly cursor?: string | undefined
  readonly order?: 'asc' | 'desc' | undefined
}

/** What a cursor belongs to. */
export interface PageBinding {
  /** The secret that signs cursors. */
  readonly key: Uint8Array
  readonly account: string
  /** Method and path, or any other name of the list. */
  readonly list: string
  /** Everything else that decides which items the list has; undefined: nothing. */
  readonly filter?: string | undefined
}

export interface PageRequest {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** Position of the last item of the page before; undefined: from the start. */
  readonly after: string | undefined
}

export interface Page<Item> {
  readonly data: Item[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}

/** The envelope of a list of `item`, for a route's schema. */
export function pageSchema<Item extends TSchema>(item: Item) {
  return Type.Object({
    data: Type.Array(item),
    has_more: Type.Boolean(),
    next_cursor: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  })
}

/**
 * Throws `GatewayError` with `param` for a limit that is not 1 to 100, and for a cursor that is not ours or not for here.
 * @param sizes Of a list that is given out in other portions. Its route must describe `limit` itself, without a default.
 */
export function readPageRequest(query: PageQuery, binding: PageBinding, sizes: PageSizes = SIZES): PageRequest {
  const order = query.order ?? 'desc'
  return { limit: readLimit(query.limit, sizes), order, after: readCursor(query.cursor, order, binding) }
}

/**
 * @param rows What the query gave when asked for `limit + 1` rows: one too many says that there is another page.
 * @param position Text that says where in the order a row is, unique in the list.
 */
export function renderPage<Row, Item>(
  rows: readonly Row[],
  page: { readonly request: PageRequest; readonly binding: PageBinding },
  parts: { readonly position: (row: Row) => string; readonly render: (row: Row) => Item },
): Page<Item> {
  const { limit, order } = page.request
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = rows.length > limit && last !== undefined
  return {
    data: shown.map(parts.render),
    has_more: hasMore,
    next_cursor: hasMore ? writeCursor(parts.position(last), order, page.binding) : null,
  }
}

function readLimit(limit: string | number | undefined, { usual, most }: PageSizes): number {
  if (limit === undefined) return usual
  if (typeof limit === 'string' && !/^-?\d{1,15}$/.test(limit)) {
    throw new GatewayError('invalid_type', "'limit' must be a whole number.", { param: 'limit' })
  }
  const value = Number(limit)
  if (value >= 1 && value <= most) return value
  throw new GatewayError('out_of_range', `'limit' must be between 1 and ${most}.`, { param: 'limit' })
}

function writeCursor(position: string, order: string, binding: PageBinding): string {
  return Buffer.concat([sign(position, order, binding), Buffer.from(position)]).toString('base64url')
}

function readCursor(cursor: string | undefined, order: string, binding: PageBinding): string | undefined {
  if (cursor === undefined || FIRST_PAGE.has(cursor)) return undefined
  const bytes = Buffer.from(cursor.slice(0, MAX_CURSOR_LENGTH), 'base64url')
  const position = bytes.subarray(SIGNATURE_BYTES).toString()
  const signature = bytes.subarray(0, SIGNATURE_BYTES)
  const genuine =
    bytes.length > SIGNATURE_BYTES &&
    bytes.toString('base64url') === cursor &&
    timingSafeEqual(signature, sign(position, order, binding))
  if (genuine) return position
  const message = "'cursor' is not one that this list gave out; start again without it."
  throw new GatewayError('invalid_value', message, { param: 'cursor' })
}

function sign(position: string, order: string, { key, account, list, filter }: PageBinding): Buffer {
  const text = JSON.stringify([account, list, filter ?? '', order, position])
  return createHmac('sha256', key).update(text).digest().subarray(0, SIGNATURE_BYTES)
}
