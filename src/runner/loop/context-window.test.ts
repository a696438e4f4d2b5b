/** Runs on one database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentMessage } from '../ports.ts'
import { planCompaction, windowBudget } from './compaction.ts'
import { createContextWindow } from './context-window.ts'
import { replaceExact } from './replacement.ts'
import { ToolError } from './tool.ts'
import { runTask, WorkThreadError } from './work-thread.ts'

const { signal } = new AbortController()

/** Steps of one call and one result each; the results have 100 KB in short lines. */
function transcript(steps: number): AgentMessage[] {
  const call = (id: string) => ({
    id,
    type: 'function' as const,
    function: { name: 'view', arguments: '{"path":"a"}' },
  })
  return Array.from({ length: steps }, (_, step): AgentMessage[] => [
    { role: 'assistant', content: `Step ${step}.`, tool_calls: [call(`call_${step}`)] },
    { role: 'tool', tool_call_id: `call_${step}`, content: `line ${step}\n`.repeat(12_500) },
  ]).flat()
}

test('a large transcript is compacted while the event loop runs on', async () => {
  const context = createContextWindow(transcript(200), { model: { contextWindow: 4_000_000 }, signal })
  let turns = 0
  let isDone = false
  const countTurn = (): void => {
    turns += 1
    if (!isDone) setImmediate(countTurn)
  }
  setImmediate(countTurn)
  const plan = await context.compact()
  isDone = true
  assert.ok(turns > 20, `${turns} turns of the event loop`)
  assert.equal(plan, undefined)
  assert.equal(context.request().messages.length, 401)
})

test('tasks return on the thread what they return here, and an error of a tool stays one', async () => {
  const messages = transcript(8)
  const window = windowBudget(32_000, 8_000, 1_500)
  const text = 'one\r\ntwo\r\n'.repeat(2_000)
  const all = { old: 'two\n', new: 'three\n', replacesAll: true }
  const [plan, replaced] = await Promise.all([
    runTask(signal, 'planCompaction', messages, window),
    runTask(signal, 'replaceExact', text, all),
  ])
  assert.deepEqual(plan, planCompaction(messages, window))
  assert.deepEqual(replaced, replaceExact(text, all))
  const twice = runTask(signal, 'replaceExact', text, { ...all, replacesAll: false })
  await assert.rejects(twice, (error) => error instanceof ToolError && /occurs 2000 times/.test(error.message))
})

test('a task that exceeds its time limit fails alone, and an abort ends the wait for one [limit: agent-thread]', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const task = (of: AbortSignal) => runTask(of, 'replaceExact', 'a b', { old: 'b', new: 'c', replacesAll: false })
  const controller = new AbortController()
  const late = task(signal)
  const cancelled = task(controller.signal)
  const next = task(signal)
  controller.abort(new Error('Cancelled.'))
  await assert.rejects(cancelled, /Cancelled/)
  t.mock.timers.tick(10_000)
  await assert.rejects(late, (error) => error instanceof WorkThreadError && /10 s/.test(error.message))
  assert.equal((await next).text, 'a c')
})
