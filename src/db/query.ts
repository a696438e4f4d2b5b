/** What queries of all features share: optional filters, ranges, pages of sorted rows, and counts. */
import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'

/** Returns the values that are not undefined, for `and`: columns of absent filters may have any value. */
export function given<Values extends object>(values: Values) {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Column in keyof Values]?: Exclude<Values[Column], undefined> }
}

/** Returns the condition that a column is within a range. @param range `end` is exclusive. */
export function within(column: string, { start, end }: { readonly start: number; readonly end: number }) {
  return sql<SqlBool>`${sql.ref(column)} >= ${start} and ${sql.ref(column)} < ${end}`
}

export interface PageOf {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** Value of the last row of the previous page; undefined: from the start. */
  readonly after?: string | number | undefined
}

/** Sorts a query by a column that is unique in its rows, and restricts it to a page; for `$call`. */
export function pageBy(column: string, { limit, order, after }: PageOf) {
  return <DB, TB extends keyof DB, Row>(query: SelectQueryBuilder<DB, TB, Row>) => {
    const sorted = query.orderBy(sql.ref(column), order).limit(limit)
    return after === undefined ? sorted : sorted.where(sql.ref(column), order === 'asc' ? '>' : '<', after)
  }
}

/** Counts the rows of a query. */
export async function countRows<DB, TB extends keyof DB>(query: SelectQueryBuilder<DB, TB, object>): Promise<number> {
  const counting = query.select(sql<number>`count(*)`.as('count')).$castTo<{ readonly count: number }>()
  return Number((await counting.executeTakeFirstOrThrow()).count)
}
