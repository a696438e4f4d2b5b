import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completionRecord } from '../../../../test/support/ledger/completions.ts'
import { PREPAID } from '../../../../test/support/ledger/spooled-credit.ts'
import type { CompletionRecord } from '../../../domain/completion.ts'
import type { SettleUnit } from '../ledger/unit.ts'
import { parseRecord, unitText } from './records.ts'

const attemptLog: CompletionRecord['attemptLog'] = [
  { provider: 'p', model: 'm', outcome: 'failed', status: 0, startedMs: 1, durationMs: 2 },
]

function unitOf(over: Partial<CompletionRecord> = {}): SettleUnit {
  return { kind: 'settle', record: completionRecord(over), terms: PREPAID, unrecorded: false, kept: undefined }
}

test('a settlement is read as it was written, with and without a log of its attempts', () => {
  for (const unit of [unitOf(), unitOf({ attemptLog, attempts: 2 })]) {
    assert.deepEqual(parseRecord(unitText('settled', unit)), { kind: 'settled', unit })
    assert.deepEqual(parseRecord(unitText('intent', unit)), { kind: 'intent', unit: { ...unit, provisional: true } })
  }
})

test('a settlement of a release that knew no log of attempts is read without one', () => {
  const unit = unitOf({ attemptLog })
  const [letter, { record, ...rest }] = JSON.parse(unitText('settled', unit))
  const { attemptLog: _, ...older } = record
  const read = parseRecord(JSON.stringify([letter, { ...rest, record: older }]))
  assert.deepEqual(read, { kind: 'settled', unit: { ...unit, record: { ...unit.record, attemptLog: undefined } } })
})
