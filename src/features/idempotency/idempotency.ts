/**
 * Requests with an `Idempotency-Key`: the first with a key runs, its repeats get the same answer and cost nothing. It
 * serves whatever has an account, an endpoint, a key and a subject, which is the id of what the request makes; only
 * `subject.ts` knows what that is.
 *
 * A request has its key by a row with a lease. The answer is written together with the charge, in the ledger's
 * transaction, so that there is never one without the other. Everything else about the row is written here.
 */
import type { Kysely } from 'kysely'
import type { BatchStatement } from '../../db/open.ts'
import type { Database } from '../../db/schema.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { IdempotencyPort, IdempotentAsk, IdempotentRun, IdempotentTurn, KeptResult } from '../../domain/credit.ts'
import type { AccountId } from '../../domain/ids.ts'
import { fingerprintOf } from './fingerprint.ts'
import { createFreeing, type Freeing } from './freeing.ts'
import { createLeaseRenewal } from './lease-renewal.ts'
import { lostAnswer, lostStream, resultTooLarge, shuttingDown, stillRunning, tooManyKeys } from './refusals.ts'
import { type Claim, findKeyOfSubject } from './rows.ts'
import { createRunningKeys, type RunningKey, type RunningKeys } from './running-keys.ts'
import { createStatementQueue } from './statement-queue.ts'
import { type Turn, type TurnAsk, type TurnWorld, takeTurn } from './turn.ts'

/** Requests with a key under way in this process. */
export const MAX_RUNNING_KEYS = 100_000
/** Answers that are larger are not kept. */
export const MAX_KEPT_BODY_BYTES = 8 * 1024 * 1024
const KEEP_STREAM_MS = 600_000
const LEASE_MS = 10_000
const RENEW_MS = 3_000
const CLAIM_TIMEOUT_MS = 5_000
const CLOSE_TIMEOUT_MS = 5_000
/** The longest that a timer can be set to. */
const LONGEST_WAIT_MS = 2 ** 31 - 1

export interface IdempotencyInput {
  readonly db: Kysely<Database>
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
  readonly instanceId: string
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: { warn(fields: object, message: string): void }
  /** How long an ended stream is kept, in milliseconds. Undefined: 10 minutes. */
  readonly keepStreamMs?: () => number
  readonly leaseMs?: number
  readonly renewMs?: number
  /** How long the database may take to write a claim before a request is turned away. */
  readonly claimTimeoutMs?: number
  readonly closeTimeoutMs?: number
  readonly maxRunningKeys?: number
}

export interface Idempotency extends IdempotencyPort {
  /** Begins to renew the leases of what runs. */
  start(): void
  /** Writes which keys are free. Those who still wait are turned away; leases end by themselves. */
  close(): Promise<void>
  /**
   * What to keep in place of the answer, to be committed with the charge, when the process that ran a request is gone
   * and somebody else settles it. Undefined when it has no key, or charges nothing, which frees the key.
   */
  outcomeOf(accountId: AccountId, subjectId: string, record: CompletionRecord): Promise<KeptResult | undefined>
}

export function createIdempotency(input: IdempotencyInput): Idempotency {
  const { db, batch, clock, log, leaseMs = LEASE_MS, renewMs = RENEW_MS } = input
  const { claimTimeoutMs = CLAIM_TIMEOUT_MS, closeTimeoutMs = CLOSE_TIMEOUT_MS } = input
  let closed = false
  const queue = createStatementQueue(batch)
  const keys = createRunningKeys()
  const freeing = createFreeing({ db, queue, log, closeTimeoutMs })
  const renewal = createLeaseRenewal({ db, batch, log, leaseMs, renewMs, claims: keys.claims })
  const keepStreamMs = input.keepStreamMs ?? (() => KEEP_STREAM_MS)
  const world: TurnWorld = { ...input, queue, leaseMs, claimTimeoutMs, keepStreamMs, isClosed: () => closed }
  const parts: Parts = { world, keys, freeing, maxRunningKeys: input.maxRunningKeys ?? MAX_RUNNING_KEYS }
  return {
    async begin(ask) {
      const claim = claimOf(ask)
      const deadline = clock() + Math.min(ask.patienceMs, LONGEST_WAIT_MS)
      for (;;) {
        if (closed) throw shuttingDown()
        const running = keys.find(claim)
        if (running === undefined) return await lead(parts, claim, { ...ask, deadline })
        if (running.shared) return { kind: 'shared', subjectId: running.claim.subjectId }
        const ended = await keys.waitFor(running, Math.max(0, deadline - clock()))
        if (ended === undefined) throw stillRunning()
        if (ended.kind === 'failed') throw ended.error
        if (ended.kind === 'answer') return { kind: 'replay', answer: ended.answer }
        if (ended.kind === 'elsewhere') return ended
      }
    },
    start: renewal.start,
    async close() {
      closed = true
      renewal.stop()
      keys.endAll({ kind: 'failed', error: shuttingDown() })
      await freeing.close()
    },
    async outcomeOf(accountId, subjectId, { costNanoUsd, stream }) {
      if (costNanoUsd <= 0n) return undefined
      const place = await findKeyOfSubject(db, accountId, subjectId)
      if (place === undefined) return undefined
      return { ...place, answer: (stream ? lostStream : lostAnswer)(subjectId, costNanoUsd) }
    },
  }
}

interface Parts {
  readonly world: TurnWorld
  readonly keys: RunningKeys
  readonly freeing: Freeing
  readonly maxRunningKeys: number
}

/** For the first in this process to come with its key and body: the others wait for what it gets. */
async function lead(parts: Parts, claim: Claim, ask: TurnAsk): Promise<IdempotentTurn> {
  const { world, keys, freeing, maxRunningKeys } = parts
  if (keys.size + freeing.pending >= maxRunningKeys) throw tooManyKeys()
  const running = keys.add(claim)
  let turn: Turn
  try {
    turn = await takeTurn(world, claim, ask)
    if (turn.kind === 'run') {
      running.running = true
      return { kind: 'run', run: createRun(parts, running, turn.owned) }
    }
    keys.end(running, turn)
  } catch (error) {
    keys.end(running, { kind: 'failed', error })
    throw error
  }
  if (turn.kind === 'gave up') throw stillRunning()
  if (turn.kind === 'elsewhere') return turn
  return { kind: 'replay', answer: turn.answer }
}

function createRun({ keys, freeing }: Parts, running: RunningKey, owned: () => boolean): IdempotentRun {
  const { accountId, endpoint, key } = running.claim
  let ended = false
  return {
    owned,
    waiting: () => running.waiters.length,
    shared: () => keys.share(running),
    result(answer) {
      const fits = answer !== undefined && Buffer.byteLength(answer.body) <= MAX_KEPT_BODY_BYTES
      return { accountId, endpoint, key, answer: fits ? answer : undefined }
    },
    committed(answer) {
      ended = true
      keys.end(running, answer === undefined ? { kind: 'failed', error: resultTooLarge() } : { kind: 'answer', answer })
    },
    freed(answer) {
      if (ended) return
      ended = true
      freeing.free(running.claim, answer)
      keys.end(running, { kind: 'answer', answer })
    },
  }
}

function claimOf(ask: IdempotentAsk): Claim {
  const { accountId, endpoint, key, subjectId } = ask
  return { accountId, endpoint, key, fingerprint: fingerprintOf(ask), subjectId }
}
