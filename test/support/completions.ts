/** Completions as the meter hands them over. */
import type { OpenedDatabase } from '../../src/db/open.ts'
import type { CompletionRecord } from '../../src/domain/completion.ts'
import { type AccountId, type CompletionId, completionIdFloor, type KeyId } from '../../src/domain/ids.ts'
import { completionWriter } from '../../src/features/usage/statements.ts'

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
    clientRequestId: undefined,
    ...over,
  }
}

/** Unique, and within a millisecond after those made before. */
export function completionIdAt(ms: number): CompletionId {
  return `${completionIdFloor(ms)}${String(++serial).padStart(14, '0')}` as CompletionId
}

/** Writes them as the recorder does. */
export async function recordCompletions(
  { db, batch }: OpenedDatabase,
  records: readonly CompletionRecord[],
): Promise<void> {
  await batch(completionWriter(db)(records))
}
