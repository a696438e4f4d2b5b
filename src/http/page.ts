/**
 * Paginated lists: the envelope, the three query parameters, and cursors that are opaque, signed, and valid only for their
 * account, list, filter and order.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { type TSchema, Type } from 'typebox'
import { GatewayError } from '../domain/errors.ts'

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100
const SIGNATURE_BYTES = 16
const MAX_CURSOR_LENGTH = 512
/** Sent by clients that write out an absent `next_cursor`. */
const FIRST_PAGE: ReadonlySet<string> = new Set(['', 'null'])

/** Empty, `null`, or base64url of a signature and at least one byte of position. */
const CURSOR_PATTERN = `^(?:null|[A-Za-z0-9_-]{23,${MAX_CURSOR_LENGTH}})?$`

const orderSchema = (standard: 'asc' | 'desc', description: string) =>
  Type.Optional(Type.Unsafe<'asc' | 'desc'>({ type: 'string', enum: ['asc', 'desc'], default: standard, description }))

/** Properties of a list's query string. */
export const PAGE_QUERY = {
  limit: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum: MAX_LIMIT }), Type.String()], {
      default: DEFAULT_LIMIT,
      description: `Items in the page, 1 to ${MAX_LIMIT}.`,
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      pattern: CURSOR_PATTERN,
      description: '`next_cursor` of the previous page. Empty or `null`: the first page.',
    }),
  ),
  order: orderSchema('desc', 'By time.'),
}

/** The query of `listByName`. */
export const NAMED_PAGE_QUERY = { ...PAGE_QUERY, order: orderSchema('asc', 'By name.') }

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

/** The list to which a cursor belongs. */
export interface PageBinding {
  /** The secret that signs cursors. */
  readonly key: Uint8Array
  readonly account: string
  /** Method and path, or any other name of the list. */
  readonly list: string
  /** Everything else that selects the items; undefined: nothing. */
  readonly filter?: string | undefined
}

export interface PageRequest<After extends string = string> {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** Position of the last item of the previous page; undefined: from the start. */
  readonly after: After | undefined
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
 * Throws `GatewayError` with `param` for a limit out of range, and for a cursor of another list.
 * @param sizes Page sizes other than 20 and 100. The route must describe `limit` itself, without a default.
 */
export function readPageRequest(query: PageQuery, binding: PageBinding, sizes: PageSizes = SIZES): PageRequest {
  const order = query.order ?? 'desc'
  return { limit: readLimit(query.limit, sizes), order, after: readCursor(query.cursor, order, binding) }
}

/**
 * @param rows The result for `limit + 1`: one row too many means that there is another page.
 * @param position The row's place in the order, unique in the list.
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

interface ListInput<Row, Item, After extends string> {
  readonly query: PageQuery
  readonly binding: PageBinding
  /** Reads up to `limit` rows after the position `after`. */
  readonly read: (request: PageRequest<After>) => Promise<readonly Row[]> | readonly Row[]
  /** The row's place in the order, unique in the list: `byId`, `byNumber`. */
  readonly position: (row: Row) => string
  readonly render: (row: Row) => Item
}

/** Responds to a request for a page: reads one row more than it shows. */
export async function listPage<Row, Item, After extends string = string>(
  input: ListInput<Row, Item, After>,
): Promise<Page<Item>> {
  const { query, binding, read, position, render } = input
  const request = readPageRequest(query, binding)
  const after = request.after as After | undefined // a cursor is signed: it holds a position of this list
  const rows = await read({ ...request, after, limit: request.limit + 1 })
  return renderPage(rows, { request, binding }, { position, render })
}

interface NamedListInput<Row, Item> extends Pick<ListInput<Row, Item, string>, 'query' | 'binding' | 'render'> {
  /** The name, unique in the list. */
  readonly name: (row: Row) => string
}

/** Responds to a request for a page of a list in memory, in the order of names. */
export function listByName<Row, Item>(rows: readonly Row[], input: NamedListInput<Row, Item>): Promise<Page<Item>> {
  const { query, binding, render, name } = input
  return listPage<Row, Item>({
    query: { ...query, order: query.order ?? 'asc' },
    binding,
    read({ order, after, limit }) {
      const sorted = rows.toSorted((one, other) => (name(one) < name(other) ? -1 : 1))
      if (order === 'desc') sorted.reverse()
      const isNext = (row: Row) => after === undefined || (order === 'asc' ? name(row) > after : name(row) < after)
      return sorted.filter(isNext).slice(0, limit)
    },
    position: name,
    render,
  })
}

export function byId({ id }: { readonly id: string }): string {
  return id
}

/** Returns the sort key of lists ordered by number. `readPageRequest` returns `after` as text. */
export function byNumber({ number }: { readonly number: number }): string {
  return String(number)
}

/** The number of items in a page. Throws `GatewayError` for a limit out of range. */
export function readLimit(limit: string | number | undefined, { usual, most }: PageSizes = SIZES): number {
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
  const message = "'cursor' is not valid for this list; start again without it."
  throw new GatewayError('invalid_value', message, { param: 'cursor' })
}

function sign(position: string, order: string, { key, account, list, filter }: PageBinding): Buffer {
  const text = JSON.stringify([account, list, filter ?? '', order, position])
  return createHmac('sha256', key).update(text).digest().subarray(0, SIGNATURE_BYTES)
}
