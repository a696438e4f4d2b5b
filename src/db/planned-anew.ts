import { type RawBuilder, sql } from 'kysely'

/** In a text that PostgreSQL is to plan each time. */
export const PLANNED_ANEW = '/* planned anew */'

/** For the front of a query whose best plan depends on its bounds: a plan that is kept knows nothing of them. */
export const plannedAnew: RawBuilder<unknown> = sql.raw(PLANNED_ANEW)
