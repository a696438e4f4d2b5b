import { CompiledQuery, type Kysely, type Transaction } from 'kysely'
import type { BatchStatement } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type {
  IdempotencyPort,
  IdempotentRequest,
  IdempotentRun,
  IdempotentStart,
  SavedAnswer,
  SavedResult,
} from '../../domain/credit.ts'
import type { AccountId } from '../../domain/ids.ts'
import { fingerprintOf } from '../../domain/json-body.ts'
import type { FeatureDeps, OnceInTransaction } from '../deps.ts'
import {
  type BeginContext,
  type BeginRequest,
  type BeginResult,
  beginIdempotent,
  type ErrorFormat,
  keyReused,
  lostAnswer,
  OWN_ERRORS,
  resultTooLarge,
  shuttingDown,
  stillRunning,
  tooManyKeys,
} from './begin.ts'
import {
  type Claim,
  claimStatement,
  createKeyRelease,
  createLeaseRenewal,
  createStatementQueue,
  endStatement,
  findKey,
  findKeyOfSubject,
  type KeyRelease,
} from './rows.ts'

/** Maximum number of requests with a key in flight in this process. */
const MAX_RUNNING_KEYS = 100_000
/** Answers that are larger are not kept. */
export const MAX_SAVED_BODY_BYTES = 8 * 1024 * 1024
const KEEP_STREAM_MS = 600_000
const LEASE_MS = 10_000
const RENEW_MS = 3_000
const CLAIM_TIMEOUT_MS = 5_000
const CLOSE_TIMEOUT_MS = 5_000
/** The longest that a timer can be set to. */
const LONGEST_WAIT_MS = 2 ** 31 - 1

export interface IdempotencyInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
  readonly instanceId: string
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly log: { warn(fields: object, message: string): void }
  /** How long an ended stream is kept, in milliseconds. Undefined: 10 minutes. */
  readonly keepStreamMs?: () => number
  readonly leaseMs?: number
  readonly renewMs?: number
  /** The longest wait for the database to write a claim; then the request is rejected. */
  readonly claimTimeoutMs?: number
  readonly closeTimeoutMs?: number
  readonly maxRunningKeys?: number
  /** Of the API of an endpoint; the gateway's own unless set. */
  readonly errorFormatOf?: (endpoint: string) => ErrorFormat
}

export interface Idempotency extends IdempotencyPort {
  /** Starts to renew the leases of running requests. */
  start(): void
  /** Writes which keys are free, and rejects requests that still wait. Leases expire. */
  close(): Promise<void>
  /**
   * Returns what to keep instead of the answer, committed with the charge, when another process settles a request whose
   * process died. Undefined if it has no key, or charges nothing, which frees the key.
   */
  outcomeOf(accountId: AccountId, subjectId: string, record: CompletionRecord): Promise<SavedResult | undefined>
}

export function createIdempotency(input: IdempotencyInput): Idempotency {
  const { db, batch, clock, log, leaseMs = LEASE_MS, renewMs = RENEW_MS } = input
  const { claimTimeoutMs = CLAIM_TIMEOUT_MS, closeTimeoutMs = CLOSE_TIMEOUT_MS } = input
  let closed = false
  const queue = createStatementQueue(batch)
  const keys = createRunningKeys()
  const release = createKeyRelease({ db, queue, log, closeTimeoutMs })
  const renewal = createLeaseRenewal({ db, batch, log, leaseMs, renewMs, claims: keys.claims })
  const keepStreamMs = input.keepStreamMs ?? (() => KEEP_STREAM_MS)
  const { errorFormatOf = () => OWN_ERRORS } = input
  const timing = { leaseMs, claimTimeoutMs, keepStreamMs }
  const context: BeginContext = { ...input, ...timing, queue, errorFormatOf, isClosed: () => closed }
  const parts: Parts = { context, keys, release, maxRunningKeys: input.maxRunningKeys ?? MAX_RUNNING_KEYS }
  return {
    async begin(request) {
      const claim = claimOf(request)
      const deadline = clock() + Math.min(request.patienceMs, LONGEST_WAIT_MS)
      for (;;) {
        if (closed) throw shuttingDown()
        const running = keys.find(claim)
        if (running === undefined) return await runFirst(parts, claim, { ...request, deadline })
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
      await release.close()
    },
    async outcomeOf(accountId, subjectId, { costNanoUsd, stream }) {
      if (costNanoUsd <= 0n) return undefined
      const place = await findKeyOfSubject(db, accountId, subjectId)
      if (place === undefined) return undefined
      return { ...place, answer: lostAnswer({ subjectId, costNanoUsd, stream }, errorFormatOf(place.endpoint)) }
    },
  }
}

interface Parts {
  readonly context: BeginContext
  readonly keys: RunningKeys
  readonly release: KeyRelease
  readonly maxRunningKeys: number
}

/** Runs the first request of this process with its key and body; the others wait for its outcome. */
async function runFirst(parts: Parts, claim: Claim, request: BeginRequest): Promise<IdempotentStart> {
  const { context, keys, release, maxRunningKeys } = parts
  if (keys.size + release.pending >= maxRunningKeys) throw tooManyKeys()
  const running = keys.add(claim)
  let started: BeginResult
  try {
    started = await beginIdempotent(context, claim, request)
    if (started.kind === 'run') {
      running.running = true
      return { kind: 'run', run: createRun(parts, running, started.owned) }
    }
    keys.end(running, started)
  } catch (error) {
    keys.end(running, { kind: 'failed', error })
    throw error
  }
  if (started.kind === 'timed_out') throw stillRunning()
  if (started.kind === 'elsewhere') return started
  return { kind: 'replay', answer: started.answer }
}

function createRun({ keys, release }: Parts, running: RunningKey, owned: () => boolean): IdempotentRun {
  const { accountId, endpoint, key } = running.claim
  let ended = false
  return {
    owned,
    waiting: () => running.waiters.length,
    shared: () => keys.share(running),
    result(answer) {
      const fits = answer !== undefined && Buffer.byteLength(answer.body) <= MAX_SAVED_BODY_BYTES
      return { accountId, endpoint, key, answer: fits ? answer : undefined }
    },
    committed(answer) {
      ended = true
      keys.end(running, answer === undefined ? { kind: 'failed', error: resultTooLarge() } : { kind: 'answer', answer })
    },
    freed(answer) {
      if (ended) return
      ended = true
      release.free(running.claim, answer)
      keys.end(running, { kind: 'answer', answer })
    },
  }
}

function claimOf(request: IdempotentRequest): Claim {
  const { accountId, endpoint, key, subjectId, fingerprint = fingerprintOf(request) } = request
  return { accountId, endpoint, key, fingerprint, subjectId }
}

/*
 * Requests of this process that own or claim a key, and the requests that wait for them here. An ended request does not
 * retain its answer.
 */

/** `timed_out`: its wait has ended; other requests may wait longer. */
type Ended =
  | { readonly kind: 'answer'; readonly answer: SavedAnswer }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'timed_out' }
  /** It has not ended, but its stream can be read: see `share`. */
  | { readonly kind: 'shared' }
  | { readonly kind: 'elsewhere'; readonly subjectId: string; readonly instanceId: string }

interface RunningKey {
  readonly name: string
  readonly claim: Claim
  /** Whether it owns the key, so that its lease is renewed. */
  running: boolean
  /** Whether its stream can be read. */
  shared: boolean
  waiters: ((ended: Ended) => void)[]
}

interface RunningKeys {
  /** Returns the request with the same key and body. */
  find(claim: Claim): RunningKey | undefined
  add(claim: Claim): RunningKey
  /** Resolves with its end; undefined when it has not come within `patienceMs`. */
  waitFor(running: RunningKey, patienceMs: number): Promise<Ended | undefined>
  /** Its stream can be read from now on, before its end. */
  share(running: RunningKey): void
  /** Notifies the waiting requests. Only the first call counts. */
  end(running: RunningKey, ended: Ended): void
  endAll(ended: Ended): void
  /** Claims that own their key. */
  claims(): Claim[]
  readonly size: number
}

function createRunningKeys(): RunningKeys {
  const all = new Map<string, RunningKey>()
  const end = (running: RunningKey, ended: Ended) => {
    if (all.get(running.name) !== running) return
    all.delete(running.name)
    tellAll(running, ended)
  }
  return {
    find: (claim) => all.get(nameOf(claim)),
    add(claim) {
      const running: RunningKey = { name: nameOf(claim), claim, running: false, shared: false, waiters: [] }
      all.set(running.name, running)
      return running
    },
    waitFor,
    share(running) {
      running.shared = true
      tellAll(running, { kind: 'shared' })
    },
    end,
    endAll(ended) {
      for (const running of [...all.values()]) end(running, ended)
    },
    claims: () => [...all.values()].filter(({ running }) => running).map(({ claim }) => claim),
    get size() {
      return all.size
    },
  }
}

function tellAll(running: RunningKey, ended: Ended): void {
  const { waiters } = running
  running.waiters = []
  for (const tell of waiters) tell(ended)
}

function waitFor(running: RunningKey, patienceMs: number): Promise<Ended | undefined> {
  return new Promise((resolve) => {
    const tell = (ended: Ended) => {
      clearTimeout(timer)
      resolve(ended)
    }
    const timer = setTimeout(() => {
      running.waiters = running.waiters.filter((waiter) => waiter !== tell)
      resolve(undefined)
    }, patienceMs)
    running.waiters.push(tell)
  })
}

/** Includes the body: a request with another body must not wait for this answer. No part can contain a line feed. */
function nameOf({ accountId, endpoint, key, fingerprint }: Claim): string {
  return `${accountId}\n${endpoint}\n${key}\n${Buffer.from(fingerprint).toString('latin1')}`
}

// Idempotency of work in a single transaction: the key's row is written in it, so it needs no lease, and a crash leaves
// nothing to settle.

export interface OnceInput {
  readonly db: Kysely<Database>
  /** Of this process. */
  readonly instanceId: string
}

export function onceInTransaction({ db, instanceId }: OnceInput): OnceInTransaction {
  return ({ key, ...request }, work) =>
    db.transaction().execute(async (inside) => {
      if (key === undefined) return { answer: await work(inside), isReplay: false }
      const claim: Claim = { ...request, key, fingerprint: fingerprintOf(request) }
      // A concurrent request waits here for the end of the first one's transaction.
      const answer = await takeKey(inside, claim, instanceId)
      if (answer !== undefined) return { answer, isReplay: true }
      const given = await work(inside)
      await run(inside, endStatement(inside, claim, { state: 'kept', answer: given }))
      return { answer: given, isReplay: false }
    })
}

/** @returns The earlier answer; undefined: the claim owns the key. */
async function takeKey(
  inside: Transaction<Database>,
  claim: Claim,
  instanceId: string,
): Promise<SavedAnswer | undefined> {
  await run(inside, claimStatement(inside, claim, { instanceId, leaseMs: 0, lapsed: undefined }))
  const row = await findKey(inside, claim)
  if (row === undefined) throw stillRunning()
  if (row.subject_id === claim.subjectId) return undefined
  if (Buffer.compare(row.fingerprint, claim.fingerprint) !== 0) throw keyReused()
  if (row.state === 'running') throw stillRunning()
  if (row.status === null || row.headers === null || row.body === null) throw resultTooLarge()
  return { status: row.status, headers: JSON.parse(row.headers), body: row.body }
}

async function run(inside: Transaction<Database>, { sql, parameters }: BatchStatement): Promise<void> {
  await inside.executeQuery(CompiledQuery.raw(sql, [...parameters]))
}
