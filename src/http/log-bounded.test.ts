import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { test } from 'node:test'
import { completionRecord } from '../../test/support/completions.ts'
import type { CompletionId } from '../domain/ids.ts'
import { COMPLETION_CHANNEL, type CompletionSignal } from '../domain/signals.ts'
import { WARN_EVERY_MS, warnOfBoundedUsage } from './log-bounded.ts'

test('TM15: impossible usage is warned of once a minute for each provider and model, with how often it came', () => {
  let now = 0
  const lines: object[] = []
  const stop = warnOfBoundedUsage({ log: { warn: (fields) => lines.push(fields) }, clock: () => now })
  const tell = (provider: string, reported?: CompletionSignal['reported']): void => {
    const record = completionRecord({
      id: 'chatcmpl-1' as CompletionId,
      provider,
      model: 'm1',
      promptTokens: 7,
      completionTokens: 16,
    })
    channel(COMPLETION_CHANNEL).publish({ record, overheadMs: 1, reported } satisfies CompletionSignal)
  }
  const lie = { promptTokens: 7, completionTokens: 1e9 }
  tell('up')
  tell('up', lie)
  tell('up', lie)
  tell('up', lie)
  tell('other', lie)
  now = WARN_EVERY_MS
  tell('up', lie)
  stop()
  tell('up', lie)
  const common = { model: 'm1', id: 'chatcmpl-1', reported: lie, charged: { promptTokens: 7, completionTokens: 16 } }
  assert.deepEqual(lines, [
    { provider: 'up', count: 1, ...common },
    { provider: 'other', count: 1, ...common },
    { provider: 'up', count: 3, ...common },
  ])
})
