/** Completions as the meter hands them over. */
import type { OpenedDatabase } from '../../../src/db/database.ts'
import type { CompletionRecord } from '../../../src/domain/completion.ts'
import {
  type AccountId,
  type CompletionId,
  completionIdFloor,
  type KeyId,
  type UserId,
} from '../../../src/domain/ids.ts'
import { createLedgerStore } from '../../../src/features/credit/ledger/store.ts'
import type { PlanTerms, Unit } from '../../../src/features/credit/ledger/unit.ts'
import { insertContent } from '../../../src/features/usage/content/store.ts'
import { addPerformance } from '../../../src/features/usage/performance.ts'

let serial = 0

/** An ordinary one; its id is born at its `createdAt`. */
export function completionRecord(over: Partial<CompletionRecord> = {}): CompletionRecord {
  const createdAt = over.createdAt ?? Date.UTC(2026, 4, 5, 12)
  return {
    id: completionIdAt(createdAt),
    accountId: 'acc_a' as AccountId,
    keyId: 'key_a' as KeyId,
    model: 'm1',
    provider: 'p',
    status: 'completed',
    stream: false,
    finishReason: 'stop',
    promptTokens: 10,
    completionTokens: 5,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    costNanoUsd: 1500n,
    priceVersion: 'v1',
    usageSource: 'provider',
    createdAt,
    durationMs: 12.4,
    firstByteMs: undefined,
    attempts: 1,
    attemptLog: undefined,
    clientRequestId: undefined,
    ...over,
  }
}

/** Unique, and within a millisecond after those made before. */
export function completionIdAt(ms: number): CompletionId {
  return `${completionIdFloor(ms)}${String(++serial).padStart(14, '0')}` as CompletionId
}

const BILLED_AFTERWARDS: PlanTerms = { billing: 'postpaid', monthlyCreditNanoUsd: 0n }

/** Charges them, as settlements of requests that needed no hold. Makes the accounts that are not there. */
export async function recordCompletions(database: OpenedDatabase, records: readonly CompletionRecord[]): Promise<void> {
  await ensureAccounts(
    database,
    records.map(({ accountId }) => accountId),
  )
  const units = records.map(
    (record) =>
      ({ kind: 'settle', record, terms: BILLED_AFTERWARDS, unrecorded: true, kept: undefined }) satisfies Unit,
  )
  // Rows are dated no later than what writes them: a test's clock may be ahead.
  const now = Math.max(Date.now(), ...records.map(({ createdAt }) => createdAt))
  const outcomes = await createLedgerStore(database).commit({ units, now })
  const refused = outcomes.find(({ kind }) => kind !== 'done' && kind !== 'corrected')
  if (refused !== undefined) throw new Error(`Not recorded: ${JSON.stringify(refused)}`)
  await addPerformance(database.db, records)
}

export async function ensureAccounts({ db }: OpenedDatabase, ids: readonly AccountId[]): Promise<void> {
  for (const id of new Set(ids)) {
    const row = { id, name: id, plan: 'unlimited', created_at: 1, changed_at: 1 }
    await db
      .insertInto('account')
      .values(row)
      .onConflict((on) => on.doNothing())
      .execute()
  }
}

interface StoredContent {
  readonly accountId: AccountId
  readonly userId?: UserId
  readonly keyId?: KeyId
  readonly createdAt?: number
}

/** Stores captured content that nobody can open. */
export async function storeContent(
  database: Pick<OpenedDatabase, 'db' | 'batch'>,
  { accountId, userId, keyId = 'key_a' as KeyId, createdAt = Date.now() }: StoredContent,
): Promise<CompletionId> {
  const id = completionIdAt(createdAt)
  const row = { accountId, id, keyId, userId, sealed: new Uint8Array([1]), createdAt }
  await database.batch([insertContent(database.db, row, { keyName: 'none' })])
  return id
}

export async function storedContents({ db }: Pick<OpenedDatabase, 'db'>): Promise<readonly CompletionId[]> {
  const rows = await db.selectFrom('completion_content').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}
