import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountId } from '../../domain/ids.ts'
import { completionIdFloor } from '../../domain/ids.ts'
import type { Model } from '../../domain/model.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { Period } from './period.ts'
import { DAY_MS } from './statements.ts'

/** Ids are born at most this long before or after their completion's `created_at`: they narrow the search by it. */
const ID_TOLERANCE_MS = 3_600_000

export interface ModelUsage {
  readonly model: string
  /** Prompt and completion together. */
  readonly tokens: number
  readonly costNanoUsd: NanoUsd
}

/** Exact sums of one account, the most expensive model first. Models without a completion in the period are absent. */
export async function usageByModel(
  db: Kysely<Database>,
  accountId: AccountId,
  period: Period,
): Promise<readonly ModelUsage[]> {
  const parts = splitPeriod(period)
  const rows = await db
    .selectFrom(
      daySums(db, accountId, parts.days)
        .unionAll(rowSums(db, accountId, parts.head))
        .unionAll(rowSums(db, accountId, parts.tail))
        .as('part'),
    )
    .select(['model', ({ fn }) => fn.sum<number>('tokens').as('tokens')])
    .select(({ fn }) => fn.sum<bigint>('cost_nano_usd').as('cost_nano_usd'))
    .groupBy('model')
    .orderBy('cost_nano_usd', 'desc')
    .orderBy('model')
    .execute()
  return rows.map(({ model, tokens, cost_nano_usd }) => ({ model, tokens, costNanoUsd: cost_nano_usd }))
}

/** Notes each price the first time it is seen: usage rows name it for ever. `now` is Unix milliseconds. */
export async function recordPriceVersions(db: Kysely<Database>, models: readonly Model[], now: number): Promise<void> {
  const rows = models.flatMap(({ id: model, price, priceVersion: id }) => {
    if (price === undefined || id === undefined) return []
    const cached = { cached_input_micro_usd: price.cachedInputMicroUsd ?? null }
    const written = { cache_write_micro_usd: price.cacheWriteMicroUsd ?? null }
    const fresh = { input_micro_usd: price.inputMicroUsd, output_micro_usd: price.outputMicroUsd }
    return [{ id, model, ...fresh, ...cached, ...written, first_seen_at: now }]
  })
  const known = await db.selectFrom('price_version').select('id').execute()
  const knownIds = new Set(known.map(({ id }) => id))
  const fresh = rows.filter(({ id }) => !knownIds.has(id))
  if (fresh.length === 0) return
  await db.transaction().execute(async (inside) => {
    for (const row of fresh)
      await inside
        .insertInto('price_version')
        .values(row)
        .onConflict((on) => on.doNothing())
        .execute()
  })
}

/** Whole UTC days come from the sums, what sticks out on either side from the rows themselves. */
function splitPeriod({ start, end }: Period): { readonly days: Period; readonly head: Period; readonly tail: Period } {
  const firstDay = Math.ceil(start / DAY_MS)
  const endDay = Math.floor(end / DAY_MS)
  const none = { start: 0, end: 0 }
  if (firstDay >= endDay) return { days: none, head: { start, end }, tail: none }
  return {
    days: { start: firstDay, end: endDay },
    head: { start, end: firstDay * DAY_MS },
    tail: { start: endDay * DAY_MS, end },
  }
}

function daySums(db: Kysely<Database>, accountId: AccountId, days: Period) {
  return db
    .selectFrom('usage_rollup')
    .select(['model', (row) => row('prompt_tokens', '+', row.ref('completion_tokens')).as('tokens'), 'cost_nano_usd'])
    .where('account_id', '=', accountId)
    .where('day', '>=', days.start)
    .where('day', '<', days.end)
}

function rowSums(db: Kysely<Database>, accountId: AccountId, { start, end }: Period) {
  return db
    .selectFrom('completion')
    .select(['model', (row) => row('prompt_tokens', '+', row.ref('completion_tokens')).as('tokens'), 'cost_nano_usd'])
    .where('account_id', '=', accountId)
    .where('id', '>=', completionIdFloor(start - ID_TOLERANCE_MS))
    .where('id', '<', completionIdFloor(end + ID_TOLERANCE_MS))
    .where('created_at', '>=', start)
    .where('created_at', '<', end)
}
