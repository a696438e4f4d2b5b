import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completionRecord } from '../../../../../test/support/ledger/completions.ts'
import { holdUnit, POSTPAID, PREPAID } from '../../../../../test/support/ledger/credit-model.ts'
import type { CompletionRecord } from '../../../../domain/completion.ts'
import type { AccountId, CompletionId, KeyId, TeamId } from '../../../../domain/ids.ts'
import type { SettleUnit, Unit } from '../unit.ts'
import { toWire, unitsOf } from './store.ts'

/** Every field of its own, so that two that are swapped are seen. */
const hold = holdUnit({
  promptTokens: 1,
  outputTokens: 2,
  choices: 3,
  inputPrice: 4,
  outputPrice: 5,
  fixedNanoUsd: 8,
  createdAt: 6,
  byokFeePpm: 15,
  keyBudgetNanoUsd: 7n,
  api: 'messages',
  teamId: 'team_1' as TeamId,
  attribution: { tags: ['a=b'], session: 's', endUser: 'e' },
  requestId: 'req_1',
  ancestors: [
    { keyId: 'key_2' as KeyId, nanoUsd: 14n },
    { keyId: 'key_3' as KeyId, nanoUsd: undefined },
  ],
  subjects: [{ level: 'tag', id: 'customer=acme' }],
})
const counts = {
  promptTokens: 1,
  completionTokens: 2,
  cachedTokens: 3,
  cacheWriteTokens: 4,
  reasoningTokens: 5,
  costNanoUsd: 6n,
}
const times = { createdAt: 7, durationMs: 8.5, firstByteMs: 9, attempts: 10 }
const attemptLog: CompletionRecord['attemptLog'] = [
  { provider: 'p', model: 'm', outcome: 'cut', status: 200, startedMs: 11, durationMs: 12 },
]
const usageDetail = { cacheWrite1h: 13, serverTools: { web_search: 14 }, serviceTier: 'flex' }
const detailed = {
  usageDetail,
  priceRule: 'flex',
  clientRequestId: 'mine',
  api: 'responses',
  teamId: 'team_2' as TeamId,
  requestId: 'req_2',
  providerCostNanoUsd: 15n,
} as const
const record = completionRecord({
  ...counts,
  ...times,
  attemptLog,
  ...detailed,
  attribution: { tags: ['c=d'], session: undefined, endUser: 'f' },
})
const answer = { status: 200, headers: { a: 'b' }, body: 'c' }
const kept = { accountId: record.accountId, endpoint: 'POST /x', key: 'k', answer }
const settle: SettleUnit = { kind: 'settle', record, terms: POSTPAID, unrecorded: true, promisedNanoUsd: 13n, kept }

test('every unit arrives in the other thread as it was sent', () => {
  const units: readonly Unit[] = [
    hold,
    {
      ...hold,
      flexible: true,
      tentative: true,
      stream: true,
      keyBudgetNanoUsd: undefined,
      ancestors: undefined,
      subjects: undefined,
      api: undefined,
      teamId: undefined,
      attribution: undefined,
      clientRequestId: 'mine',
      byokFeePpm: 50_000,
      terms: PREPAID,
    },
    settle,
    {
      ...settle,
      unrecorded: false,
      promisedNanoUsd: undefined,
      kept: undefined,
      record: { ...record, finishReason: undefined, stream: true, attemptLog: undefined, usageDetail: undefined },
    },
    { kind: 'release', accountId: 'acc_a' as AccountId, id: 'chatcmpl-1' as CompletionId },
    { kind: 'touch', accountId: 'acc_a' as AccountId, terms: PREPAID },
  ]
  const wire = structuredClone(toWire({ units, now: 5 }))
  assert.deepEqual(unitsOf(wire), units)
  assert.equal(wire.now, 5)
})
