/** How the cost of one completion came about: the arithmetic of `chargeNanoUsd`, part by part. */
import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { chargeNanoUsd, type Price } from '../../domain/price.ts'
import { readStoredPrice } from '../../domain/stored-price.ts'
import type { CompletionRow } from './completion-list.ts'

export const LINE_KINDS = ['input', 'cached_input', 'cache_write', 'output'] as const

export interface PricingLine {
  readonly kind: (typeof LINE_KINDS)[number]
  readonly tokens: number
  /** Micro-dollars per million tokens. */
  readonly microUsd: number
}

export interface Pricing {
  readonly price: Price
  /** Input and output always, the others where there were such tokens. */
  readonly lines: readonly PricingLine[]
}

/**
 * Undefined where the price is not known, where the charge was corrected since, and where the cost is not what the
 * tokens come to: what failed costs nothing.
 */
export async function pricingOf(db: Kysely<Database>, row: CompletionRow): Promise<Pricing | undefined> {
  const price = await findPrice(db, row)
  if (price === undefined) return undefined
  const { prompt_tokens: prompt, completion_tokens: completion } = row
  const tokens = { prompt, completion, cached: row.cached_tokens, cacheWrite: row.cache_write_tokens }
  if (chargeNanoUsd(tokens, price) !== row.cost_nano_usd || (await wasCorrected(db, row))) return undefined
  return { price, lines: linesOf(row, price) }
}

function linesOf(row: CompletionRow, price: Price): readonly PricingLine[] {
  const cached = Math.min(row.cached_tokens, row.prompt_tokens)
  const written = Math.min(row.cache_write_tokens, row.prompt_tokens - cached)
  const { inputMicroUsd, cachedInputMicroUsd = inputMicroUsd, cacheWriteMicroUsd = inputMicroUsd } = price
  const lines: readonly PricingLine[] = [
    { kind: 'input', tokens: row.prompt_tokens - cached - written, microUsd: inputMicroUsd },
    { kind: 'cached_input', tokens: cached, microUsd: cachedInputMicroUsd },
    { kind: 'cache_write', tokens: written, microUsd: cacheWriteMicroUsd },
    { kind: 'output', tokens: row.completion_tokens, microUsd: price.outputMicroUsd },
  ]
  return lines.filter(({ kind, tokens }) => kind === 'input' || kind === 'output' || tokens > 0)
}

const DIGITS_OF_MICRO_USD_PER_MILLION = 1e12

/** USD of a line, before anything is rounded: at most 12 decimals. */
export function lineUsd({ tokens, microUsd }: PricingLine): number {
  return Number(BigInt(tokens) * BigInt(microUsd)) / DIGITS_OF_MICRO_USD_PER_MILLION
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
