/**
 * Re-rates past charges of a model at another price. Rows are immutable: each difference is a new row that refers to the
 * corrected one. A unique index lets a row be corrected at most once, and a later correction refers to the previous
 * one, so a repeated or concurrent run moves nothing twice.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { within } from '../../db/shared-queries.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { chargeNanoUsd, readStoredUsage } from '../../domain/price/price.ts'
import type { Price } from '../../domain/price/tariff.ts'
import type { Period } from '../../http/period.ts'
import { numbersOf, signedNanoUsd } from './entries.ts'
import type { EntryUnit, Outcome, PlanTerms, Unit } from './ledger/unit.ts'

const PAGE_SIZE = 200
const NOTE = 'price correction'

export interface RerateDeps {
  readonly db: Kysely<Database>
  /** Executes units in one transaction; returns an outcome for each. */
  readonly commit: (units: readonly Unit[]) => Promise<readonly Outcome[]>
}

export interface RerateInput {
  readonly accountId: AccountId
  readonly terms: PlanTerms
  /** The model's own ID. */
  readonly model: string
  readonly price: Price
  readonly priceVersion: string
  /** Bounds of the times of charges. */
  readonly period: Period
  /** Computes the corrections without writing them. */
  readonly dryRun: boolean
}

export interface RerateSummary {
  /** Charges of the model in the period. */
  readonly charges: number
  readonly corrected: number
  readonly chargedNanoUsd: NanoUsd
  readonly refundedNanoUsd: NanoUsd
  /** Charges whose completions retention has deleted, so their tokens are unknown. */
  readonly withoutUsage: number
  /** Corrections that the database rejected because a concurrent run made them. */
  readonly refused: number
}

const NOTHING_RERATED: RerateSummary = {
  charges: 0,
  corrected: 0,
  chargedNanoUsd: 0n,
  refundedNanoUsd: 0n,
  withoutUsage: 0,
  refused: 0,
}

export async function rerate({ db, commit }: RerateDeps, input: RerateInput): Promise<RerateSummary> {
  const { start, end } = await numbersOf(db, input.accountId, input.period)
  let summary = NOTHING_RERATED
  for (let from = start; ; ) {
    const charges = await chargesOf(db, input, { start: from, end })
    const last = charges.at(-1)
    if (last === undefined) return summary
    const corrected = await correctionsOf(db, input.accountId, charges)
    const units = charges.flatMap((charge) => correctionOf(charge, corrected.get(charge.number), input) ?? [])
    const outcomes = input.dryRun || units.length === 0 ? [] : await commit(units)
    summary = addUp([summary, summaryOf(charges, units, outcomes)])
    from = last.number + 1
  }
}

export function addUp(summaries: readonly RerateSummary[]): RerateSummary {
  return summaries.reduce(
    (sum, each) => ({
      charges: sum.charges + each.charges,
      corrected: sum.corrected + each.corrected,
      chargedNanoUsd: sum.chargedNanoUsd + each.chargedNanoUsd,
      refundedNanoUsd: sum.refundedNanoUsd + each.refundedNanoUsd,
      withoutUsage: sum.withoutUsage + each.withoutUsage,
      refused: sum.refused + each.refused,
    }),
    NOTHING_RERATED,
  )
}

type Charge = Awaited<ReturnType<typeof chargesOf>>[number]

/** Reads the next page of charges. Without the row of its completion, the price identifies the model. */
function chargesOf(db: Kysely<Database>, { accountId, model }: RerateInput, { start, end }: Period) {
  return db
    .selectFrom('ledger')
    .leftJoin('completion', (join) =>
      join.onRef('completion.account_id', '=', 'ledger.account_id').onRef('completion.id', '=', 'ledger.completion_id'),
    )
    .leftJoin('price_version', 'price_version.id', 'ledger.price_version')
    .select(['number', 'ledger.kind', 'amount_nano_usd', 'completion_id', 'ledger.key_id', 'ledger.price_version'])
    .select(['prompt_tokens', 'completion_tokens', 'cached_tokens', 'cache_write_tokens', 'reasoning_tokens'])
    .select(['usage_detail', 'completion.created_at', 'unbilled_nano_usd'])
    .where('ledger.account_id', '=', accountId)
    .where(within('number', { start, end }))
    .where(({ and }) => and({ 'ledger.kind': 'charge', adjusts: null }))
    .where(({ eb, fn }) => eb(fn.coalesce('completion.model', 'price_version.model'), '=', model))
    .orderBy('number')
    .limit(PAGE_SIZE)
    .execute()
}

/** A charge after its corrections. */
interface CorrectedCharge {
  /** The last row of the chain, to which the next correction refers. */
  readonly number: number
  /** The total that the customer was charged. */
  readonly nanoUsd: NanoUsd
}

/** Reads the corrected charges, by number. */
async function correctionsOf(
  db: Kysely<Database>,
  accountId: AccountId,
  charges: readonly Charge[],
): Promise<ReadonlyMap<number, CorrectedCharge>> {
  const corrected = new Map<number, CorrectedCharge>()
  const firstOf = new Map(charges.map(({ number }) => [number, number]))
  const amounts = new Map(charges.map(({ number, amount_nano_usd }) => [number, amount_nano_usd]))
  for (let tails = [...firstOf.keys()]; tails.length > 0; ) {
    const corrections = await db
      .selectFrom('ledger')
      .select(['number', 'kind', 'amount_nano_usd', 'adjusts'])
      .where('account_id', '=', accountId)
      .where('adjusts', 'in', tails)
      .execute()
    for (const { number, kind, amount_nano_usd: nanoUsd, adjusts } of corrections) {
      const first = firstOf.get(Number(adjusts)) ?? number
      const before = corrected.get(first)?.nanoUsd ?? amounts.get(first) ?? 0n
      firstOf.set(number, first)
      corrected.set(first, { number, nanoUsd: before - signedNanoUsd({ kind, nanoUsd }) })
    }
    tails = corrections.map(({ number }) => number)
  }
  return corrected
}

/** Returns undefined if nothing needs a correction. A charge at this price version is correct whatever its amount. */
function correctionOf(
  charge: Charge,
  corrected: CorrectedCharge | undefined,
  input: RerateInput,
): EntryUnit | undefined {
  const { prompt_tokens: prompt, completion_tokens: completion, completion_id: completionId } = charge
  if (completionId === null || prompt === null || completion === null) return undefined
  if (corrected === undefined && charge.price_version === input.priceVersion) return undefined
  const latest = corrected ?? { number: charge.number, nanoUsd: charge.amount_nano_usd }
  const created_at = charge.created_at ?? 0
  const usage = readStoredUsage({ ...charge, prompt_tokens: prompt, completion_tokens: completion, created_at })
  const cost = chargeNanoUsd(usage, input.price)
  // A correction does not charge the amount beyond the overrun cap either.
  const isCapped = charge.unbilled_nano_usd !== null && cost > charge.amount_nano_usd
  const more = (isCapped ? charge.amount_nano_usd : cost) - latest.nanoUsd
  if (more === 0n) return undefined
  const adjusts = {
    number: latest.number,
    completionId,
    keyId: charge.key_id ?? undefined,
    priceVersion: input.priceVersion,
  }
  const entry = {
    kind: more > 0n ? 'charge' : 'refund',
    nanoUsd: more > 0n ? more : -more,
    note: NOTE,
    adjusts,
  } as const
  return { kind: 'entry', accountId: input.accountId, terms: input.terms, entry }
}

/** @param outcomes None in a dry run, which counts every correction as made. */
function summaryOf(
  charges: readonly Charge[],
  units: readonly EntryUnit[],
  outcomes: readonly Outcome[],
): RerateSummary {
  const done = units.filter((_, at) => outcomes[at] === undefined || outcomes[at]?.kind === 'entered')
  const sumOf = (kind: 'charge' | 'refund') =>
    done.reduce((sum, { entry }) => (entry.kind === kind ? sum + entry.nanoUsd : sum), 0n)
  return {
    charges: charges.length,
    corrected: done.length,
    chargedNanoUsd: sumOf('charge'),
    refundedNanoUsd: sumOf('refund'),
    withoutUsage: charges.filter(({ prompt_tokens }) => prompt_tokens === null).length,
    refused: units.length - done.length,
  }
}
