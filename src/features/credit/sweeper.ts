/**
 * Settles the open holds of dead processes at their last recorded estimate: the provider may have received the request,
 * and its exact cost is unknown.
 */
import type { Kysely } from 'kysely'
import type { Database, HoldTable } from '../../db/schema/schema.ts'
import { storedAttribution } from '../../domain/attribution.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { Hold, SavedResult } from '../../domain/credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { chargeNanoUsd, readStoredPrice } from '../../domain/price/price.ts'
import { LEASE_GAP_MS, LEASE_MS, type LeaseGuard } from '../../jobs/instance-lease.ts'
import { databaseTimeIn } from '../../jobs/sql.ts'
import { reach } from '../../lib/crash-point.ts'
import type { FeatureDeps } from '../deps.ts'
import { ESTIMATED, type Outcome, type PlanTerms, type SettleUnit, type Unit } from './ledger/unit.ts'

const BATCH_SIZE = 200

export interface SweepInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly committer: { submit(unit: Unit): Promise<Outcome> }
  /** Of this process. */
  readonly instanceId: string
  /** See `InstanceLease.steady`. */
  readonly steady: () => boolean
  /** Terms of a plan by its name. */
  readonly terms: (plan: string) => PlanTerms
  /** The answer to later requests with the same idempotency key. */
  readonly outcomeOf?: (record: CompletionRecord) => Promise<SavedResult | undefined>
  /** Reads the spools of dead processes, which have exact settlements. */
  readonly recover: () => Promise<void>
  readonly log: {
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

/** An open hold of a dead process. */
export interface AbandonedHold extends HoldTable {
  readonly plan: string
}

/** @returns The number of holds that this call has settled. Rejects if the database is unavailable. */
export async function sweepHolds(input: SweepInput): Promise<number> {
  if (!input.steady()) return 0
  await input.recover()
  let swept = 0
  let last: AbandonedHold | undefined
  for (;;) {
    const holds = await abandonedHolds(input, last)
    if (holds.length > 0) reach('in_sweeper')
    const outcomes = await Promise.all(holds.map((hold) => sweep(input, hold)))
    swept += outcomes.filter(({ kind }) => kind === 'done').length
    last = holds.at(-1)
    if (holds.length < BATCH_SIZE) break
  }
  if (swept > 0) input.log.warn({ swept }, 'holds of processes that are gone were settled at their estimates')
  return swept
}

/** Returns the settlement of an abandoned hold: its last estimate, marked as such. */
function sweptRecord(hold: HoldTable, now: number): CompletionRecord {
  return {
    ...ESTIMATED,
    id: hold.id,
    accountId: hold.account_id,
    keyId: hold.key_id,
    model: hold.model,
    provider: hold.provider,
    stream: hold.stream === 1,
    promptTokens: hold.prompt_tokens,
    completionTokens: hold.completion_tokens,
    costNanoUsd: hold.estimate_nano_usd,
    priceVersion: hold.price_version,
    createdAt: hold.created_at,
    durationMs: Math.max(0, now - hold.created_at),
    clientRequestId: hold.client_request_id ?? undefined,
    ...(hold.byok_fee_ppm === null ? {} : { usageDetail: { byok: { feePpm: hold.byok_fee_ppm } } }),
    api: hold.api ?? undefined,
    teamId: hold.team_id ?? undefined,
    attribution: storedAttribution(hold),
    requestId: hold.request_id ?? undefined,
  }
}

/** Another process may sweep the same hold: the ledger accepts the first. */
async function sweep(input: SweepInput, hold: AbandonedHold): Promise<Outcome> {
  const { committer, terms, outcomeOf, now, log } = input
  const record = { ...sweptRecord(hold, now()), providerCostNanoUsd: await providerCostOf(input, hold) }
  const kept = await outcomeOf?.(record)
  const unit: SettleUnit = {
    kind: 'settle',
    record,
    terms: terms(hold.plan),
    unrecorded: false,
    provisional: true,
    kept,
  }
  const outcome = await committer.submit(unit)
  if (outcome.kind === 'failed') log.error({ id: hold.id, reason: outcome.message }, 'a hold could not be swept')
  return outcome
}

/** What the operator owes for the estimated usage; undefined: its charge. */
async function providerCostOf({ db }: SweepInput, hold: AbandonedHold): Promise<NanoUsd | undefined> {
  if (hold.byok_fee_ppm !== null) return 0n
  const price = await db
    .selectFrom('price_version as sold')
    .innerJoin('price_version as base', 'base.id', 'sold.base_version')
    .selectAll('base')
    .where('sold.id', '=', hold.price_version)
    .executeTakeFirst()
  const { prompt_tokens: prompt, completion_tokens: completion, created_at: at } = hold
  return price && chargeNanoUsd({ prompt, completion, at }, readStoredPrice(price))
}

/**
 * Selects nothing unless this process's own lease is valid: after the machine was suspended, every lease
 * has expired.
 * @param after The last hold of the previous batch.
 */
function abandonedHolds(
  { db, instanceId }: SweepInput,
  after: AbandonedHold | undefined,
): Promise<readonly AbandonedHold[]> {
  const first = db
    .selectFrom('hold')
    .innerJoin('account', 'account.id', 'hold.account_id')
    .leftJoin('instance', 'instance.id', 'hold.instance_id')
    .selectAll('hold')
    .select('account.plan')
    .where(({ eb, or }) => or([eb('instance.id', 'is', null), eb('instance.seen_at', '<', databaseTimeIn(-LEASE_MS))]))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('instance as own')
          .select('own.id')
          .where('own.id', '=', instanceId)
          .where('own.seen_at', '>=', databaseTimeIn(-LEASE_GAP_MS)),
      ),
    )
    .orderBy('hold.account_id')
    .orderBy('hold.id')
    .limit(BATCH_SIZE)
  if (after === undefined) return first.execute()
  const { account_id: accountId, id } = after
  return first
    .where(({ eb, refTuple, tuple }) => eb(refTuple('hold.account_id', 'hold.id'), '>', tuple(accountId, id)))
    .execute()
}

/*
 * Ends requests whose holds others may have swept: credit that was given back to the account must not be served from. What
 * they came to until then is settled, and corrects what the sweep charged.
 */

/** Requests under way, by their holds. */
export interface HeldRequests {
  /** Of those that are not settled. */
  readonly holds: () => readonly Hold[]
  /** Ends those whose hold it says is lost: streams with an error event, others with an error. */
  readonly interruptHeld: (reason: GatewayError, isLost: (hold: Hold) => boolean) => void
}

interface HoldGuardInput {
  readonly db: Kysely<Database>
  /** Of this process. */
  readonly instanceId: string
  /** Undefined: it has not begun to serve. */
  readonly requests: () => HeldRequests | undefined
  readonly log: { warn(fields: object, message: string): void }
}

export function createHoldGuard({ db, instanceId, requests, log }: HoldGuardInput): LeaseGuard {
  const end = (lost: readonly Hold[], why: string) => {
    if (lost.length === 0) return
    log.warn({ requests: lost.length }, why)
    const ids = new Set(lost.map(({ id }) => id))
    requests()?.interruptHeld(holdLost(), ({ id }) => ids.has(id))
  }
  const recorded = () => (requests()?.holds() ?? []).filter(({ unrecorded }) => !unrecorded)
  return {
    lapsed() {
      end(recorded(), 'the lease of this process has lapsed: requests under way were ended')
    },
    async regained() {
      const before = recorded() // those that come now are made under the renewed lease
      if (before.length === 0) return
      const rows = await db.selectFrom('hold').select('id').where('instance_id', '=', instanceId).execute()
      const open = new Set(rows.map(({ id }) => id))
      end(
        before.filter(({ id }) => !open.has(id)),
        'holds were swept while this process was away: their requests were ended',
      )
    },
  }
}

function holdLost(): GatewayError {
  return new GatewayError(
    'database_unavailable',
    'The gateway was disconnected from its database for too long to continue this answer; retry the request.',
    { retryAfterMs: 1_000 },
  )
}
