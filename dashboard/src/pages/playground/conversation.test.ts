import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Conversation, lastAnswer, reduceConversation, runsOf, startConversation } from './conversation.ts'
import { beginRun } from './run.ts'

const run = (id: number, model = 'a') => beginRun({ id, model, request: {}, leftOut: [], startedAt: 0 })
const hello = { kind: 'message', id: 100, role: 'user', text: 'Hello', images: [] } as const
const modelsOf = ({ columns }: Conversation) => columns.map(({ model, id }) => `${id}${model}`)
const chosen = (state: Conversation, ...models: string[]) => reduceConversation(state, { type: 'models', models })
const chunk = (content: string) => ({ data: JSON.stringify({ choices: [{ delta: { content } }] }), at: 1 })

test('a column keeps its conversation when another is added, removed or changed', () => {
  const start = startConversation(['a', 'b'])
  const said = reduceConversation(start, { type: 'say', columnId: 2, messages: [hello], run: run(1, 'b') })
  assert.deepEqual(modelsOf(chosen(said, 'a', 'b', '')), ['1a', '2b', '3'])
  const alone = chosen(said, 'b')
  assert.deepEqual([modelsOf(alone), alone.columns[0]?.items.length], [['2b'], 2])
  const changed = chosen(said, 'a', 'c')
  assert.deepEqual([modelsOf(changed), changed.columns[1]?.items.length], [['1a', '2c'], 2])
  assert.deepEqual(modelsOf(chosen(said, 'b', 'a')), ['2b', '1a'])
  assert.deepEqual(modelsOf(chosen(startConversation(['a', 'a']), 'a')), ['1a'])
})

test('columns that stay the same are the same objects', () => {
  const start = startConversation(['a', 'b'])
  const both = ['1', '2'].reduce(
    (state, id) => reduceConversation(state, { type: 'say', columnId: Number(id), messages: [], run: run(Number(id)) }),
    start,
  )
  const next = reduceConversation(both, { type: 'events', events: new Map([[2, [chunk('x')]]]) })
  assert.equal(next.columns[0], both.columns[0])
  assert.deepEqual(
    runsOf(next).map(({ text }) => text),
    ['', 'x'],
  )
})

test('a retry takes the place of the last answer, and events of the old one go nowhere', () => {
  const said = reduceConversation(startConversation(['a']), {
    type: 'say',
    columnId: 1,
    messages: [hello],
    run: run(1),
  })
  const again = reduceConversation(said, { type: 'retry', columnId: 1, run: run(2) })
  const late = reduceConversation(again, { type: 'events', events: new Map([[1, [chunk('late')]]]) })
  assert.equal(late.columns[0], again.columns[0])
  assert.deepEqual([late.columns[0]?.items.length, runsOf(late).map(({ id }) => id)], [2, [2]])
})

test('answers of tools belong to the answer that called them', () => {
  const said = reduceConversation(startConversation(['a']), {
    type: 'say',
    columnId: 1,
    messages: [hello],
    run: run(1),
  })
  const answers = [{ callId: 'c', text: '21 °C' }]
  const next = reduceConversation(said, { type: 'answer-tools', columnId: 1, answers, run: run(2) })
  const [, first, second] = next.columns[0]?.items ?? []
  assert.deepEqual(first?.kind === 'answer' && first.toolAnswers, answers)
  assert.equal(second?.id, 2)
})

test('what was cleared can be had back, where nothing new was said', () => {
  const said = reduceConversation(startConversation(['a']), {
    type: 'say',
    columnId: 1,
    messages: [hello],
    run: run(1),
  })
  const cleared = reduceConversation(said, { type: 'clear' })
  assert.equal(lastAnswer(cleared.columns[0] ?? { items: [] }), undefined)
  assert.deepEqual(reduceConversation(cleared, { type: 'restore', columns: said.columns }).columns, said.columns)
})
