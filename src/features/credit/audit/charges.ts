/** Compares a completion with its tariff, and its charge with the completion. */
import { type Kysely, sql } from 'kysely'
import { readRows } from '../../../db/database.ts'
import type { Database, LedgerKind } from '../../../db/schema/schema.ts'
import type { AccountId } from '../../../domain/ids.ts'
import { LATE_NOTE } from './chain.ts'
import type { Report } from './finding.ts'
import type { AuditedRow } from './ledger-page.ts'
import { type AuditedUsage, costOf, fixedFees, highestCost, type Tariff } from './tariff.ts'

export interface KnownPrice {
  readonly model: string
  readonly tariff: Tariff
  /** The version below it, which providers charge; undefined: itself. */
  readonly base: string | undefined
}

/** Prices by version. Versions are immutable; unknown ones are read on demand. */
export interface PriceBook {
  find(version: string): KnownPrice | undefined
  /** Reads the versions that are not cached. */
  learn(db: Kysely<Database>, versions: Iterable<string>): Promise<void>
}

export function createPriceBook(): PriceBook {
  const prices = new Map<string, KnownPrice>()
  const book: PriceBook = {
    find: (version) => prices.get(version),
    async learn(db, versions) {
      const unknown = [...new Set(versions)].filter((version) => !prices.has(version))
      if (unknown.length === 0) return
      const rows = await db.selectFrom('price_version').selectAll().where('id', 'in', unknown).execute()
      for (const row of rows) {
        const { id, model, base_version: base } = row
        prices.set(id, { model, tariff: tariffOf(row), base: base ?? undefined })
      }
      await book.learn(
        db,
        rows.flatMap(({ base_version: base }) => base ?? []),
      )
    },
  }
  return book
}

interface StoredTariff {
  readonly input_micro_usd: number
  readonly output_micro_usd: number
  readonly cached_input_micro_usd: number | null
  readonly cache_write_micro_usd: number | null
  /** The rest of the price, as JSON. */
  readonly tariff: string | null
}

function tariffOf(row: StoredTariff): Tariff {
  const more = row.tariff === null ? {} : (JSON.parse(row.tariff) as Tariff) // our own JSON
  return {
    ...more,
    inputMicroUsd: row.input_micro_usd,
    outputMicroUsd: row.output_micro_usd,
    ...(row.cached_input_micro_usd !== null && { cachedInputMicroUsd: row.cached_input_micro_usd }),
    ...(row.cache_write_micro_usd !== null && { cacheWriteMicroUsd: row.cache_write_micro_usd }),
  }
}

export type UsageRow = Pick<
  AuditedRow,
  | 'row_model'
  | 'row_price_version'
  | 'row_cost_nano_usd'
  | 'row_created_at'
  | 'prompt_tokens'
  | 'completion_tokens'
  | 'cached_tokens'
  | 'cache_write_tokens'
  | 'reasoning_tokens'
  | 'status'
  | 'usage_source'
  | 'usage_detail'
  | 'unbilled_nano_usd'
  | 'provider_cost_nano_usd'
>

export function usageOf(row: UsageRow): AuditedUsage {
  return {
    prompt: row.prompt_tokens,
    completion: row.completion_tokens,
    cached: row.cached_tokens,
    cacheWrite: row.cache_write_tokens,
    reasoning: row.reasoning_tokens,
    at: row.row_created_at,
    ...(row.usage_detail === null ? {} : detailOf(row.usage_detail)),
  }
}

/** JSON that only the gateway writes. */
function detailOf(text: string): Partial<AuditedUsage> {
  return { ...(JSON.parse(text) as Partial<AuditedUsage>), hasDetail: true }
}

/**
 * Returns the cost of a row at its price. A request whose process died is charged its last estimate, which may be its
 * prompt at the most expensive rate that the hold allowed for, without fees.
 */
export function checkCost(row: UsageRow, id: string, prices: PriceBook, report: Report): void {
  const price = prices.find(row.row_price_version)
  if (price === undefined || price.model !== row.row_model) {
    report(
      'price_version',
      id,
      `a price of ${row.row_model}`,
      `${row.row_price_version} of ${price?.model ?? 'nothing'}`,
    )
    if (price === undefined) return
  }
  const usage = usageOf(row)
  const expected = costOf(usage, price.tariff) - (row.unbilled_nano_usd ?? 0n)
  if (expected === row.row_cost_nano_usd) return
  const isGuess = row.status === 'incomplete' && row.usage_source === 'estimated'
  if (isGuess && row.row_cost_nano_usd >= expected - fixedFees(usage, price.tariff)) {
    if (row.row_cost_nano_usd <= highestCost(usage, price.tariff)) return
  }
  report('cost', id, expected, row.row_cost_nano_usd)
}

/** What the operator owes to providers is the usage at their price, and nothing where the account pays them itself. */
export function checkProviderCost(row: UsageRow, id: string, prices: PriceBook, report: Report): void {
  const { provider_cost_nano_usd: owed, status, usage_source: source } = row
  if (owed === null || status === 'failed' || (status === 'incomplete' && source === 'estimated')) return
  const base = prices.find(prices.find(row.row_price_version)?.base ?? row.row_price_version)
  const usage = usageOf(row)
  if (base === undefined) return
  const expected = usage.byok === undefined ? costOf(usage, base.tariff) : 0n
  if (owed !== expected) report('cost', `${id} at its provider`, expected, owed)
}

/**
 * @param laterNanoUsd The amount that late settlements have added to the charge.
 */
export function checkCharge(row: AuditedRow, laterNanoUsd: bigint, report: Report): void {
  const id = String(row.completion_id)
  const charged = row.amount_nano_usd + laterNanoUsd
  if (charged !== row.row_cost_nano_usd) report('charge', id, row.row_cost_nano_usd, charged)
  if (row.key_id !== row.row_key_id) report('charge', id, row.row_key_id, row.key_id)
  if (row.price_version !== row.row_price_version) report('price_version', id, row.price_version, row.row_price_version)
}

const RERATE_NOTE = 'price correction'
const NUMBERS_A_QUERY = 200

interface ChainLink {
  readonly number: number
  readonly kind: LedgerKind
  readonly amount_nano_usd: bigint
  readonly adjusts: number | null
  readonly note: string | null
  readonly completion_id: string | null
  readonly created_at: number
}

type Links = ReadonlyMap<number, ChainLink>

/** Reads the rows that `rows` correct, by number. */
export async function linksOf(db: Kysely<Database>, id: AccountId, rows: readonly AuditedRow[]): Promise<Links> {
  const links = new Map<number, ChainLink>()
  let wanted = rows.flatMap(({ adjusts }) => adjusts ?? [])
  while (wanted.length > 0) {
    const next: number[] = []
    for (let at = 0; at < wanted.length; at += NUMBERS_A_QUERY) {
      for (const link of await linksBy(db, id, 'number', wanted.slice(at, at + NUMBERS_A_QUERY))) {
        links.set(link.number, link)
        if (link.adjusts !== null && !links.has(link.adjusts)) next.push(link.adjusts)
      }
    }
    wanted = next
  }
  return links
}

/** Reads the amounts by which late settlements corrected each row, through the index of corrections. */
export async function lateCorrections(
  db: Kysely<Database>,
  id: AccountId,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, bigint>> {
  const later = new Map<number, bigint>()
  for (let at = 0; at < numbers.length; at += NUMBERS_A_QUERY) {
    for (const link of await linksBy(db, id, 'adjusts', numbers.slice(at, at + NUMBERS_A_QUERY))) {
      if (link.note === LATE_NOTE && link.adjusts !== null) later.set(link.adjusts, chargedBy(link))
    }
  }
  return later
}

function linksBy(db: Kysely<Database>, id: AccountId, column: 'number' | 'adjusts', numbers: readonly number[]) {
  return readRows(
    db,
    sql<ChainLink>`select number, kind, amount_nano_usd, adjusts, note, completion_id, created_at from ledger
      where account_id = ${id} and ${sql.ref(column)} in (${sql.join(numbers)})
        ${column === 'adjusts' ? sql`and adjusts is not null` : sql``}`,
  )
}

function chargedBy({ kind, amount_nano_usd: amount }: Pick<ChainLink, 'kind' | 'amount_nano_usd'>): bigint {
  return kind === 'charge' ? amount : -amount
}

/** Verifies that a price correction leaves the completion charged at the corrected price. */
export function checkCorrection(row: AuditedRow, links: Links, prices: PriceBook, report: Report): void {
  const corrected = row.adjusts === null ? undefined : links.get(row.adjusts)
  const subject = `row ${row.number}`
  if (corrected === undefined || corrected.completion_id !== row.completion_id) {
    report('correction', subject, `a row of ${row.completion_id}`, `row ${row.adjusts}`)
    return
  }
  if (row.note !== RERATE_NOTE || row.row_model === null || row.price_version === null) return
  const price = prices.find(row.price_version)
  if (price === undefined) {
    report('price_version', subject, 'a known price', row.price_version)
    return
  }
  let charged = chargedBy(row)
  for (let link: ChainLink | undefined = corrected; link !== undefined; ) {
    charged += chargedBy(link)
    link = link.adjusts === null ? undefined : links.get(link.adjusts)
  }
  const expected = costOf(usageOf(row), price.tariff)
  if (charged !== expected) report('correction', subject, expected, charged)
}
