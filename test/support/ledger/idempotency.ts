/** Requests with an `Idempotency-Key` without a gateway: what the pipeline and the ledger do to the mechanism. */
import { performance } from 'node:perf_hooks'
import type { TestContext } from 'node:test'
import type { OpenedDatabase } from '../../../src/db/database.ts'
import type {
  IdempotentRequest,
  IdempotentRun,
  IdempotentStart,
  SavedAnswer,
  SavedResult,
} from '../../../src/domain/credit.ts'
import type { AccountId, CompletionId, KeyId } from '../../../src/domain/ids.ts'
import { createLedgerStore } from '../../../src/features/credit/ledger/store.ts'
import type { HoldUnit, PlanTerms, SettleUnit } from '../../../src/features/credit/ledger/unit.ts'
import {
  createIdempotency,
  type Idempotency,
  type IdempotencyInput,
} from '../../../src/features/idempotency/idempotency.ts'
import { temporaryDatabase, testIds } from '../database.ts'
import { completionRecord, ensureAccounts } from './completions.ts'

export const ACCOUNT = 'acc_a' as AccountId

/** A process, as far as the others can see: its own connections, its own memory. */
export interface KeyProcess {
  readonly database: OpenedDatabase
  readonly port: Idempotency
  /** Batches that the database has carried out for the port: claims and what became of them. */
  readonly written: () => number
}

export async function keyProcess(
  test: TestContext,
  path?: string,
  over: Partial<IdempotencyInput> = {},
): Promise<KeyProcess> {
  const database = await temporaryDatabase(test, path)
  let written = 0
  const batch: OpenedDatabase['batch'] = async (statements) => {
    await database.batch(statements)
    written += 1
  }
  const port = openKeys({ ...database, batch }, over)
  test.after(() => port.close())
  return { database, port, written: () => written }
}

export function openKeys({ db, batch }: OpenedDatabase, over: Partial<IdempotencyInput> = {}): Idempotency {
  const log = { warn: () => undefined }
  return createIdempotency({
    db,
    batch,
    instanceId: 'ins_a',
    clock: () => performance.now(),
    now: Date.now,
    log,
    // The machine of a test may be busier than a lease lasts, and than a claim may wait to be written.
    leaseMs: 600_000,
    claimTimeoutMs: 60_000,
    ...over,
  })
}

/** A request of its own: another subject each time. */
export function ask(over: Partial<IdempotentRequest> = {}): IdempotentRequest {
  return {
    accountId: ACCOUNT,
    endpoint: 'POST /v1/chat/completions',
    key: 'k',
    body: { model: 'm1', messages: [{ role: 'user', content: 'hi' }] },
    subjectId: testIds.completion(),
    patienceMs: 60_000,
    ...over,
  }
}

export function answer(body = '{"id":"chatcmpl-1"}', status = 200): SavedAnswer {
  return { status, headers: { 'content-type': 'application/json', 'x-turnpike-provider': 'p' }, body }
}

export async function beginRun(port: Idempotency, request: IdempotentRequest): Promise<IdempotentRun> {
  return runOf(await port.begin(request))
}

export function runOf(turn: IdempotentStart): IdempotentRun {
  if (turn.kind !== 'run') throw new Error('It was answered instead of run.')
  return turn.run
}

export function replayOf(turn: IdempotentStart): SavedAnswer {
  if (turn.kind !== 'replay') throw new Error('It was run instead of answered.')
  return turn.answer
}

const TERMS: PlanTerms = { billing: 'postpaid', monthlyCreditNanoUsd: 0n }

/** The ledger charges the completion `subjectId`, and keeps the result in the same transaction. */
export async function charge(
  database: OpenedDatabase,
  subjectId: string,
  { kept, costNanoUsd = 1_500n }: { readonly kept?: SavedResult | undefined; readonly costNanoUsd?: bigint },
): Promise<void> {
  const accountId = kept?.accountId ?? ACCOUNT
  const record = completionRecord({ id: subjectId as CompletionId, accountId, costNanoUsd })
  await perform(database, { kind: 'settle', record, terms: TERMS, unrecorded: true, kept })
}

/** The way of an answer that is kept: commit, then tell. */
export async function finish(
  database: OpenedDatabase,
  request: IdempotentRequest,
  run: IdempotentRun,
): Promise<SavedAnswer> {
  const given = answer(JSON.stringify({ id: request.subjectId }))
  await charge(database, request.subjectId, { kept: run.result(given) })
  run.committed(given)
  return given
}

/** An open hold: the request may have reached a provider. */
export async function openHold(database: OpenedDatabase, subjectId: string, instanceId = 'ins_a'): Promise<void> {
  await perform(database, {
    kind: 'hold',
    accountId: ACCOUNT,
    keyId: 'key_a' as KeyId,
    id: subjectId as CompletionId,
    terms: TERMS,
    keyBudgetNanoUsd: undefined,
    instanceId,
    promptTokens: 10,
    outputTokens: 10,
    choices: 1,
    flexible: false,
    tentative: false,
    inputPrice: 1_000_000,
    outputPrice: 1_000_000,
    fixedNanoUsd: 0,
    model: 'm1',
    provider: 'p',
    stream: false,
    priceVersion: 'v1',
    createdAt: 1,
    clientRequestId: undefined,
  })
}

async function perform(database: OpenedDatabase, unit: HoldUnit | SettleUnit): Promise<void> {
  await ensureAccounts(database, [unit.kind === 'hold' ? unit.accountId : unit.record.accountId])
  const [outcome] = await createLedgerStore(database).commit({ units: [unit] })
  if (outcome?.kind !== 'held' && outcome?.kind !== 'done') throw new Error(`Refused: ${JSON.stringify(outcome)}`)
}

/** As if the time of the lease had passed without a renewal. */
export async function lapse({ db }: OpenedDatabase, key = 'k'): Promise<void> {
  await db.updateTable('idempotency').set({ lease_until: 1 }).where('key', '=', key).execute()
}

export async function rowOf({ db }: OpenedDatabase, key = 'k') {
  return await db.selectFrom('idempotency').selectAll().where('key', '=', key).executeTakeFirst()
}

/** Looks again and again until it is so. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('It has not come to that.')
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
