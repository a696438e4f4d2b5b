import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AgentEvent, parseAgentEvent } from './agent-events.ts'
import { NO_WORK, withEvents } from './work.ts'

const AT = '2026-11-20T16:29:58.000Z'

/** Numbered from 1 by default. */
function events(...told: readonly (readonly [type: string, data: object, run?: string])[]): AgentEvent[] {
  return told.map(([type, data, run_id = 'run_1'], at) => {
    const event = parseAgentEvent(JSON.stringify({ sequence: at + 1, type, run_id, created_at: AT, data }))
    return event ?? assert.fail()
  })
}

const RUN = events(
  ['status', { status: 'queued' }],
  ['message', { role: 'user', content: 'Fix it.' }],
  ['status', { status: 'running' }],
  ['phase', { phase: 'cloning' }],
  ['phase', { phase: 'working' }],
  ['usage', { completion_id: 'cmp_1', tokens: 10, cost_usd: 0.1, total_cost_usd: 0.1 }],
  ['tool_call', { call_id: 'call_1', name: 'shell', arguments: '{"command":"ls"}' }],
  ['tool_result', { call_id: 'call_1', name: 'shell', output: 'exit code 0', exit_code: 0, truncated: false }],
  ['usage', { completion_id: 'cmp_2', tokens: 20, cost_usd: 0.2, total_cost_usd: 0.3 }],
  ['message', { role: 'assistant', content: 'Done.' }],
  ['diff', { files: 1, insertions: 2, deletions: 3 }],
  ['status', { status: 'failed', error: { code: 'max_cost', message: 'It reached it.' } }],
)

test('a run becomes a conversation, a line of time, and what it used', () => {
  const work = withEvents(NO_WORK, RUN)
  assert.deepEqual(
    work.entries.map((entry) => [entry.kind, entry.sequence]),
    [
      ['message', 2],
      ['tool', 7],
      ['message', 10],
      ['end', 12],
    ],
  )
  const tool = work.entries[1]
  assert.ok(tool?.kind === 'tool')
  assert.deepEqual(tool.result, { output: 'exit code 0', exitCode: 0, isTruncated: false, at: AT })
  const [run] = work.runs
  assert.deepEqual(
    run?.moments.map(({ name }) => name),
    ['queued', 'running', 'cloning', 'working', 'failed'],
  )
  assert.deepEqual(run?.moments.at(-1)?.error, { code: 'max_cost', message: 'It reached it.' })
  assert.deepEqual([run?.steps, run?.toolCalls, run?.diff], [2, 1, { files: 1, insertions: 2, deletions: 3 }])
  assert.deepEqual([work.status, work.tokens, work.costUsd, work.last], ['failed', 30, 0.3, 12])
})

test('however the events are cut into pieces and repeated, the same comes of them', () => {
  const whole = withEvents(NO_WORK, RUN)
  let work = NO_WORK
  for (let at = 0; at < RUN.length; at++) work = withEvents(work, RUN.slice(Math.max(0, at - 3), at + 1))
  assert.deepEqual(work, whole)
  assert.equal(withEvents(whole, RUN), whole)
})

test('what was there before is not changed', () => {
  const before = withEvents(NO_WORK, RUN.slice(0, 7))
  const copy = structuredClone(before)
  withEvents(before, RUN)
  assert.deepEqual(before, copy)
})

test('a call id that comes again belongs to the newest call, and runs have their own lines of time', () => {
  const work = withEvents(
    NO_WORK,
    events(
      ['tool_call', { call_id: 'c', name: 'view', arguments: '{}' }],
      ['tool_result', { call_id: 'c', name: 'view', output: 'one', truncated: true }],
      ['status', { status: 'queued' }, 'run_2'],
      ['tool_call', { call_id: 'c', name: 'view', arguments: '{}' }, 'run_2'],
      ['tool_result', { call_id: 'c', name: 'view', output: 'two', truncated: false }, 'run_2'],
      ['tool_result', { call_id: 'unknown', name: 'view', output: 'three', truncated: false }, 'run_2'],
    ),
  )
  assert.deepEqual(
    work.entries.map((entry) => entry.kind === 'tool' && entry.result?.output),
    ['one', 'two'],
  )
  assert.deepEqual(
    work.runs.map(({ runId, toolCalls }) => [runId, toolCalls]),
    [
      ['run_1', 1],
      ['run_2', 1],
    ],
  )
})

test('what is no event is none, and a kind that is not known only counts', () => {
  for (const text of ['', 'null', '{}', '[]', '{"sequence":"1"}', '{"status":"completed"}']) {
    assert.equal(parseAgentEvent(text), undefined, text)
  }
  const unknown = events(['plan', { items: [] }], ['message', { role: 7 }], ['status', {}])
  const work = withEvents(NO_WORK, unknown)
  assert.deepEqual([work.last, work.entries.length, work.status], [3, 1, ''])
})
