import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beginRun, endRun, figuresOf, MAX_LENGTH, type Run, textOfLog, withEvents, withHead } from './run.ts'

const begun = beginRun({ id: 1, model: 'm', request: {}, leftOut: [], startedAt: 1000 })
const streaming = withHead(begun, { requestId: 'req_1', warnings: undefined })

const delta = (fields: object, more: object = {}) => ({
  id: 'chatcmpl-1',
  choices: [{ index: 0, delta: fields, ...more }],
})
const said = (...chunks: readonly unknown[]) =>
  chunks.map((chunk, index) => ({
    data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk),
    at: 1200 + index * 100,
  }))
const usage = { prompt_tokens: 7, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 2 }, cost: 0.0000019 }
const ended = (run: Run) => endRun(run, { how: 'closed', at: 5000 })

test('a whole answer has its text, finish, usage, cost and times', () => {
  const events = said(
    delta({ role: 'assistant', content: '' }),
    delta({ reasoning_content: 'Hm.' }),
    delta({ content: 'Good ' }),
    delta({ content: 'day' }),
    delta({}, { finish_reason: 'stop' }),
    { id: 'chatcmpl-1', choices: [], usage },
    '[DONE]',
  )
  const run = ended(withEvents(streaming, events))
  assert.deepEqual(
    [run.status, run.text, run.reasoning, run.finishReason, run.completionId, run.requestId],
    ['finished', 'Good day', 'Hm.', 'stop', 'chatcmpl-1', 'req_1'],
  )
  assert.deepEqual(run.usage, {
    promptTokens: 7,
    completionTokens: 3,
    cachedTokens: 2,
    reasoningTokens: 0,
    costUsd: 0.0000019,
  })
  assert.deepEqual(figuresOf(run), { firstTokenMs: 300, durationMs: 800, tokensPerSecond: 6 })
  assert.match(textOfLog(run.log), /^data: \{"id":"chatcmpl-1".*data: \[DONE\]$/s)
})

test('events one by one and all at once give the same', () => {
  const events = said(delta({ content: 'a' }), delta({ content: 'b' }), '[DONE]')
  const oneByOne = events.reduce((run, event) => withEvents(run, [event]), streaming)
  assert.deepEqual(oneByOne, withEvents(streaming, events))
})

test('calls of tools are put together from their pieces', () => {
  const call = (fields: object) => delta({ tool_calls: [fields] })
  const run = withEvents(
    streaming,
    said(
      call({ index: 0, id: 'c0', type: 'function', function: { name: 'f', arguments: '' } }),
      call({ index: 0, function: { arguments: '{"a"' } }),
      call({ index: 1, id: 'c1', type: 'function', function: { name: 'g', arguments: '{}' } }),
      call({ index: 0, function: { arguments: ':1}' } }),
      call({ index: 9, id: 'c9', function: { name: 'far', arguments: '' } }),
      call({ index: -1 }),
    ),
  )
  assert.deepEqual(run.calls, [
    { id: 'c0', name: 'f', arguments: '{"a":1}' },
    { id: 'c1', name: 'g', arguments: '{}' },
  ])
})

test('an error in the stream is a failure, with the part that came', () => {
  const error = { type: 'upstream_error', message: 'Broke.', code: 'provider_error' }
  const run = ended(withEvents(streaming, said(delta({ content: 'one' }), { error }, '[DONE]')))
  assert.deepEqual([run.status, run.text], ['failed', 'one'])
  assert.deepEqual(run.problem, { message: 'Broke.', code: 'provider_error', requestId: 'req_1' })
})

test('a stream that ends without [DONE], or breaks, is interrupted and nothing else', () => {
  const part = withEvents(streaming, said(delta({ content: 'one' }, { finish_reason: 'stop' })))
  assert.equal(ended(part).status, 'interrupted')
  assert.equal(endRun(part, { how: 'broken', at: 2000 }).status, 'interrupted')
  assert.equal(endRun(part, { how: 'broken', at: 2000 }).text, 'one')
})

test('stopped and refused; what was whole before stays whole', () => {
  assert.equal(endRun(streaming, { how: 'stopped', at: 2000 }).status, 'stopped')
  const refused = endRun(begun, { how: 'refused', at: 2000, problem: { message: 'No.', code: 'model_not_found' } })
  assert.deepEqual([refused.status, refused.problem?.code], ['failed', 'model_not_found'])
  const whole = withEvents(streaming, said(delta({ content: 'a' }), '[DONE]'))
  assert.equal(endRun(whole, { how: 'stopped', at: 9000 }).status, 'finished')
})

test('after the end nothing changes it any more', () => {
  const run = endRun(streaming, { how: 'stopped', at: 2000 })
  assert.equal(withEvents(run, said(delta({ content: 'late' }))), run)
  assert.equal(endRun(run, { how: 'closed', at: 3000 }), run)
  assert.equal(withHead(run, { requestId: 'x', warnings: undefined }), run)
})

test('what is no chunk, or no JSON, does no harm', () => {
  for (const odd of [
    'null',
    '1',
    '[]',
    '{"choices":null}',
    '{"choices":[null]}',
    '{"choices":[{"delta":{"content":1}}]}',
  ]) {
    const run = ended(withEvents(streaming, said(odd, '[DONE]')))
    assert.deepEqual([run.status, run.text], ['finished', ''], odd)
  }
  assert.match(ended(withEvents(streaming, said('{', '[DONE]'))).problem?.message ?? '', /unreadable event/)
})

test('memory is bounded: texts, calls and the log of events', () => {
  const piece = 'x'.repeat(100_000)
  const events = said(...Array.from({ length: 12 }, () => delta({ content: piece })))
  const run = withEvents(streaming, events)
  assert.deepEqual([run.text.length <= MAX_LENGTH, run.isCut], [true, true])
  const many = withEvents(
    streaming,
    said(...Array.from({ length: 5000 }, (_, index) => delta({ content: `${index} ` }))),
  )
  const log = textOfLog(many.log)
  assert.ok(log.length < 400_000, String(log.length))
  assert.match(log, /\d+ more events are not shown/)
  assert.match(log, /4999/)
  assert.equal(many.pieces, 5000)
})

test('no rate where an answer came in one piece', () => {
  const run = ended(
    withEvents(streaming, [...said(delta({ content: 'all of it' }))].concat({ data: '[DONE]', at: 1201 })),
  )
  assert.equal(figuresOf(run).tokensPerSecond, undefined)
})
