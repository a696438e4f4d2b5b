/**
 * Ends the holds that a process left open when it died, at the last estimate that it recorded: the request had left for a
 * provider, or may have, and nobody can say what it came to.
 */
import type { Kysely } from 'kysely'
import type { Database, HoldTable } from '../../db/schema.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { KeptResult } from '../../domain/credit.ts'
import { databaseTimeIn } from '../../jobs/clock.ts'
import { reach } from '../../lib/crash-point.ts'
import { LEASE_GAP_MS, LEASE_MS } from './instance-lease.ts'
import type { Outcome, PlanTerms, SettleUnit, Unit } from './unit.ts'

const BATCH_SIZE = 200

export interface SweepInput {
  readonly db: Kysely<Database>
  readonly committer: { submit(unit: Unit): Promise<Outcome> }
  /** Of this process. */
  readonly instanceId: string
  /** See `InstanceLease.steady`. */
  readonly steady: () => boolean
  /** Terms of a plan by its name. */
  readonly terms: (plan: string) => PlanTerms
  /** What repeats of the request with its idempotency key are to be answered from now on. */
  readonly outcomeOf?: (record: CompletionRecord) => Promise<KeptResult | undefined>
  /** Reads the spools of dead processes, which know better than an estimate. */
  readonly recover: () => Promise<void>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: {
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

/** A hold that nobody will end any more. */
export interface AbandonedHold extends HoldTable {
  readonly plan: string
}

/** @returns How many holds this call has ended; rejects when the database is not available. */
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

/** How a hold ends that nobody can say more about: charged what was recorded last, and marked so. */
export function sweptRecord(hold: HoldTable, now: number): CompletionRecord {
  return {
    id: hold.id,
    accountId: hold.account_id,
    keyId: hold.key_id,
    model: hold.model,
    provider: hold.provider,
    status: 'incomplete',
    stream: hold.stream === 1,
    finishReason: undefined,
    promptTokens: hold.prompt_tokens,
    completionTokens: hold.completion_tokens,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    costNanoUsd: hold.estimate_nano_usd,
    priceVersion: hold.price_version,
    usageSource: 'estimated',
    createdAt: hold.created_at,
    durationMs: Math.max(0, now - hold.created_at),
    firstByteMs: undefined,
    attempts: 1,
    attemptLog: undefined,
    clientRequestId: hold.client_request_id ?? undefined,
  }
}

/** Another process may sweep the same hold: the ledger takes the first. */
async function sweep({ committer, terms, outcomeOf, now, log }: SweepInput, hold: AbandonedHold): Promise<Outcome> {
  const record = sweptRecord(hold, now())
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

/**
 * Only while this process's own lease is fresh, so its own are never among them: on a machine that was asleep every lease
 * has run out.
 * @param after The last one of the batch before.
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
