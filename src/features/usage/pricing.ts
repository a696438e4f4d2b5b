/** How the cost of one completion came about: the arithmetic of `priceUsage`, line by line. */
import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { type ChargeLine, priceUsage, readStoredPrice, readStoredUsage } from '../../domain/price/price.ts'
import type { Price } from '../../domain/price/tariff.ts'
import type { CompletionRow } from './completion-list.ts'

/** In the order in which lines are shown. */
export const LINE_KINDS = [
  'input',
  'cached_input',
  'cache_write',
  'cache_write_1h',
  'cache_write_12h',
  'audio_input',
  'cached_audio_input',
  'output',
  'reasoning_output',
  'audio_output',
  'image_output',
  'request',
  'image',
  'server_tool',
] as const satisfies readonly ChargeLine['kind'][]

export interface Pricing {
  readonly price: Price
  readonly rule: string
  /** Input and output always, the others where there was such usage. */
  readonly lines: readonly ChargeLine[]
}

/**
 * Undefined where the price is not known, where the charge was corrected since, and where the cost is not what the
 * usage comes to: what failed costs nothing.
 */
export async function pricingOf(db: Kysely<Database>, row: CompletionRow): Promise<Pricing | undefined> {
  const price = await findPrice(db, row)
  if (price === undefined) return undefined
  const { nanoUsd, rule, lines } = priceUsage(readStoredUsage(row), price)
  const cost = row.cost_nano_usd + (row.unbilled_nano_usd ?? 0n)
  if (nanoUsd !== cost || (await wasCorrected(db, row))) return undefined
  return { price, rule, lines }
}

const PICO_USD_PER_USD = 1e12

/** USD of a line, before anything is rounded: at most 12 decimals. */
export function lineUsd(line: ChargeLine): number {
  const pico =
    'tokens' in line ? BigInt(line.tokens) * BigInt(line.microUsd) : BigInt(line.uses) * BigInt(line.nanoUsd) * 1000n
  return Number(pico) / PICO_USD_PER_USD
}

async function findPrice(
  db: Kysely<Database>,
  { price_version: id, model }: CompletionRow,
): Promise<Price | undefined> {
  const query = db.selectFrom('price_version').selectAll().where('id', '=', id).where('model', '=', model)
  const found = await query.executeTakeFirst()
  return found && readStoredPrice(found)
}

/** Through the index of corrections: most accounts have none. */
async function wasCorrected(db: Kysely<Database>, { account_id: accountId, id }: CompletionRow): Promise<boolean> {
  const correction = await db
    .selectFrom('ledger')
    .select('number')
    .where('account_id', '=', accountId)
    .where('adjusts', 'is not', null)
    .where('adjusts', '>', sql.lit(0)) // all are: it leads the planner to the index
    .where('completion_id', '=', id)
    .limit(1)
    .executeTakeFirst()
  return correction !== undefined
}
