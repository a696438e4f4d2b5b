/**
 * Names under which sessions keep statements prepared. A text gets one when it comes again: lists of changing length
 * would else use the names up.
 */
import { createLruCache } from '../../lib/lru-cache.ts'
import { PLANNED_ANEW } from '../planned-anew.ts'

/** Each session keeps at most so many; what comes later is planned anew each time. */
const MAX_NAMES = 500
const MAX_SEEN_ONCE = 1_000
const WORTH_KEEPING = /^\s*(?:select|insert|update|delete|with)\b/i
/** A newer release that shares the database may add columns: a plan for all of them fails from then on. */
const EVERY_COLUMN = /(?:\b(?:select|returning|distinct)\s+|\.)\*/i

/** @returns The name of a text, the same for all sessions; undefined: it is not to be kept. */
export function createStatementNames(): (sql: string) => string | undefined {
  const names = new Map<string, string>()
  const seenOnce = createLruCache<true>(MAX_SEEN_ONCE)
  return (sql) => {
    const known = names.get(sql)
    if (known !== undefined) return known
    if (names.size >= MAX_NAMES || !WORTH_KEEPING.test(sql) || EVERY_COLUMN.test(sql)) return undefined
    if (sql.includes(PLANNED_ANEW)) return undefined
    if (seenOnce.get(sql) === undefined) {
      seenOnce.set(sql, true)
      return undefined
    }
    seenOnce.delete(sql)
    const name = `turnpike_${names.size + 1}`
    names.set(sql, name)
    return name
  }
}
