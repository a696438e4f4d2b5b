import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AttemptNote, attemptLogText, parseAttemptLog } from './completion.ts'

function note(over: Partial<AttemptNote> = {}): AttemptNote {
  return { provider: 'p', model: 'm', outcome: 'overloaded', status: 503, startedMs: 0.4, durationMs: 12.6, ...over }
}

test('a log is read as it was written, in whole milliseconds', () => {
  const log = [note(), note({ provider: 'q', outcome: 'answered', status: 200, startedMs: 40, durationMs: 7 })]
  assert.deepEqual(parseAttemptLog(attemptLogText(log) ?? null), [{ ...log[0], startedMs: 0, durationMs: 13 }, log[1]])
})

test('no log is no text, and the other way round', () => {
  assert.equal(attemptLogText(undefined), undefined)
  assert.equal(parseAttemptLog(null), undefined)
})

test('of many calls the newest 128 are kept, and of a name 200 characters [limit: attempt-log]', () => {
  const log = Array.from({ length: 143 }, (_, index) => note({ startedMs: index, model: 'm'.repeat(9_000) }))
  const kept = parseAttemptLog(attemptLogText(log) ?? null) ?? []
  assert.deepEqual([kept.length, kept[0]?.startedMs, kept[127]?.startedMs, kept[0]?.model.length], [128, 15, 142, 200])
})

test('nothing but the six fields is kept', () => {
  const log = [{ ...note(), secret: 'sk-1' }]
  assert.doesNotMatch(attemptLogText(log) ?? '', /sk-1/)
})

test('what is not a log is none', () => {
  for (const text of ['', 'null', '{}', '[1]', '[']) assert.equal(parseAttemptLog(text), undefined)
})
