import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { completionRecord } from '../../test/support/ledger/completions.ts'
import {
  type AttemptNote,
  COMPLETION_CHANNEL,
  type CompletionRecord,
  type CompletionSignal,
} from '../domain/completion.ts'
import type { CompletionId } from '../domain/ids.ts'
import { ecsLine, WARN_EVERY_MS, warnOfBoundedUsage } from './log.ts'

/** What a process writes to its log for completions like these. */
async function linesOf(
  overs: readonly Partial<CompletionRecord>[],
  options = '',
  format = 'json',
): Promise<readonly Record<string, unknown>[]> {
  const records = overs.map((over) => ({ ...completionRecord(over), costNanoUsd: '1500' }))
  const code = `import { channel } from 'node:diagnostics_channel'
    import { logCompletions, openLog } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)}
    const { log, flush } = await openLog({ level: 'info', format: '${format}', terminal: false })
    logCompletions(log${options})
    for (const record of ${JSON.stringify(records)}) channel('turnpike:completion').publish({ record })
    await flush()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code])
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

test('UP-1: the line of a completion names its calls, where there was more to them than an answer', async () => {
  const failed: AttemptNote = { provider: 'a', model: 'm', outcome: 'failed', status: 0, startedMs: 1, durationMs: 2 }
  const answered: AttemptNote = { ...failed, provider: 'b', outcome: 'answered', status: 200, startedMs: 4 }
  const withMore = { ...failed, startedMs: 0.6, credential: 'sk-secret' }
  const [ordinary, repeated] = await linesOf([{}, { attempts: 2, attemptLog: [withMore, answered] }])
  assert.deepEqual(Object.keys(ordinary ?? {}).includes('attemptLog'), false)
  assert.deepEqual([ordinary?.['msg'], ordinary?.['attempts'], repeated?.['attempts']], ['completion', 1, 2])
  assert.deepEqual(repeated?.['attemptLog'], [failed, answered])
})

test('a sample of completed requests has lines, and every other request', async () => {
  const statuses = ['completed', 'failed', 'incomplete', 'client_left', 'completed'] as const
  const draws = '[0.4, 0.6]'
  const lines = await linesOf(
    statuses.map((status) => ({ status })),
    `, 0.5, (() => { const draws = ${draws}; return () => draws.shift() })()`,
  )
  assert.deepEqual(
    lines.map(({ status }) => status),
    ['completed', 'failed', 'incomplete', 'client_left'],
  )
})

test('OVL-1: lines that nobody reads take 16 MiB, and more are dropped: the service goes on [limit: unread-log]', async () => {
  const MIB = 1024 * 1024
  const code = `import { openLog } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)}
    const { log, flush } = await openLog({ level: 'info', terminal: false })
    for (let line = 0; line < 384; line++) log.info('x'.repeat(${MIB / 16}))
    process.stderr.write('written')
    await flush()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'pipe'] })
  await once(child.stderr, 'data') // it did not wait for whoever reads
  let received = 0
  for await (const bytes of child.stdout) received += bytes.length
  assert.ok(received > 10 * MIB && received <= 17 * MIB, `${received} bytes came`)
})

test('a warning of impossible usage has the trace of its request', () => {
  const lines: object[] = []
  const stop = warnOfBoundedUsage({ warn: (fields) => lines.push(fields) })
  const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true, state: undefined, baggage: undefined }
  const reported = { promptTokens: 1, completionTokens: 1e9 }
  channel(COMPLETION_CHANNEL).publish({ record: completionRecord({}), overheadMs: 1, reported, trace })
  stop()
  assert.deepEqual(
    lines.map((line) => ('trace_id' in line ? line.trace_id : undefined)),
    [trace.traceId],
  )
})

test('TM15: impossible usage is warned of once a minute for each provider and model, with how often it came', () => {
  let now = 0
  const lines: object[] = []
  const stop = warnOfBoundedUsage({ warn: (fields) => lines.push(fields) }, () => now)
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

test('with log.format ecs, every field of the table in docs/observability.md has its name of ECS', () => {
  const page = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| (`[^|]*`) \| (`[^|]*`) \|[^|]*\|[^|]*\|$/gm)]
  const table = rows.map(([, names = '', ecs = '']) => [namesIn(names), namesIn(ecs)] as const)
  const line = {
    ...{ level: 30, time: '2026-11-29T12:00:00.000Z', msg: 'completion', id: 'chatcmpl-1', accountId: 'acc_1' },
    ...{ keyId: 'key_1', model: 'm', provider: 'up', stream: false, promptTokens: 7, completionTokens: 9 },
    ...{ usageSource: 'provider', costUsd: 0.25, attempts: 1, attemptLog: [], durationMs: 1.5, firstByteMs: 1 },
    ...{ trace_id: 'a'.repeat(32), requestId: 'req_1', code: 'model_not_found', message: 'No.', reason: 'because' },
    ...{ err: { type: 'TypeError', message: 'No.', stack: 'at x' }, status: 422 },
  }
  const renamed = JSON.parse(ecsLine(JSON.stringify(line)))
  const whole = { ...renamed, ...JSON.parse(ecsLine(JSON.stringify({ ...line, status: 'client_left' }))) }
  const expected = new Set(table.flatMap(([, ecs]) => ecs))
  assert.deepEqual(new Set(table.flatMap(([names]) => names)), new Set(Object.keys(line)))
  assert.deepEqual(new Set(Object.keys(whole)), new Set([...expected, 'ecs.version']))
  assert.deepEqual(Object.keys(renamed).slice(0, 4), ['@timestamp', 'log.level', 'message', 'ecs.version'])
  assert.deepEqual(
    ['log.level', 'event.duration', 'http.response.status_code', 'event.outcome'].map((name) => whole[name]),
    ['info', 1_500_000, 422, 'unknown'],
  )
})

test('with log.format ecs, lines of completions are written so', async () => {
  const [line = {}] = await linesOf([{ status: 'failed' }], '', 'ecs')
  const { 'log.level': level, message, 'event.outcome': outcome, 'organization.id': account } = line
  assert.deepEqual([level, message, outcome, typeof account], ['info', 'completion', 'failure', 'string'])
  assert.equal('msg' in line, false)
})

const namesIn = (cell: string): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
