import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countQuarters, requestOf } from '../../test/support/data-plane.ts'
import type { ChatEvent, ChatRequest, Usage } from '../domain/chat.ts'
import { type Branch, createBranch, generatedAnything, MAX_KEPT_TEXT, type Measured, measure, tally } from './tally.ts'

function branchOf(...events: readonly ChatEvent[]): Branch {
  const branch = createBranch()
  for (const event of events) tally(branch, event)
  return branch
}

const text = (said: string): ChatEvent => ({ type: 'text', index: 0, text: said })
const usage = (counted: Usage): ChatEvent => ({ type: 'usage', usage: counted })
const finish = (index = 0): ChatEvent => ({ type: 'finish', index, reason: 'stop', raw: 'stop' })

function measured(branches: readonly Branch[], request: ChatRequest = requestOf()): Promise<Measured> | Measured {
  return measure({ branches, request, countTokens: countQuarters })
}

test('R-C2: the provider’s figures win over any count of ours, and need none', () => {
  const branch = branchOf(text('x'.repeat(400)), finish(), usage({ promptTokens: 7, completionTokens: 3 }))
  const counted = measure({ branches: [branch], request: requestOf(), countTokens: () => assert.fail('counted') })
  assert.deepEqual(counted, { usage: { promptTokens: 7, completionTokens: 3 }, source: 'provider' })
})

test('R-C8: a later snapshot replaces an earlier one field by field, and adds nothing', () => {
  const branch = branchOf(
    usage({ promptTokens: 100, completionTokens: 1, cachedTokens: 40 }),
    text('a'),
    usage({ completionTokens: 25 }),
    usage({ completionTokens: 30, reasoningTokens: 12 }),
    finish(),
  )
  assert.deepEqual(measured([branch]), {
    usage: { promptTokens: 100, completionTokens: 30, cachedTokens: 40, reasoningTokens: 12 },
    source: 'provider',
  })
})

test('R-C3: usage before the finish counts as well as usage after it', () => {
  const branch = branchOf(text('a'), usage({ promptTokens: 5, completionTokens: 1 }), finish())
  assert.deepEqual(measured([branch]), { usage: { promptTokens: 5, completionTokens: 1 }, source: 'provider' })
})

test('without usage all that was generated and the whole prompt are counted, marked as an estimate', async () => {
  const branch = branchOf(
    { type: 'reasoning', index: 0, text: 'r'.repeat(8) },
    text('t'.repeat(8)),
    { type: 'refusal', index: 0, text: 'n'.repeat(8) },
    { type: 'tool-call', index: 0, toolIndex: 0, id: 'call_1', name: 'n'.repeat(8), arguments: 'a'.repeat(4) },
    { type: 'tool-call', index: 0, toolIndex: 0, arguments: 'a'.repeat(4) },
    { type: 'extension', index: 0, field: 'annotations', value: ['x'.repeat(4000)] },
    finish(),
  )
  const request = requestOf({ messages: [{ role: 'user', content: 'y'.repeat(395) }] })
  assert.deepEqual(await measured([branch], request), {
    usage: { promptTokens: 100, completionTokens: 10 },
    source: 'estimated',
  })
})

test('everything of the request that a model reads is in the estimate of the prompt', async () => {
  const asked: string[] = []
  const request = requestOf({
    messages: [
      { role: 'system', content: 'SYSTEM' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'PART' },
          { type: 'image_url', image_url: { url: 'URL' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'NAME', arguments: 'ARGUMENTS' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'RESULT' },
    ],
    tools: [{ type: 'function', function: { name: 'TOOL', description: 'DESCRIPTION' } }],
  })
  const countTokens = (said: string): Promise<number> => {
    asked.push(said)
    return Promise.resolve(1)
  }
  await measure({ branches: [branchOf(text('a'))], request, countTokens })
  const prompt = asked.find((said) => said.includes('SYSTEM')) ?? assert.fail('the prompt was not counted')
  for (const word of ['PART', 'NAME', 'ARGUMENTS', 'RESULT', 'TOOL', 'DESCRIPTION']) assert.ok(prompt.includes(word))
  assert.ok(!prompt.includes('URL'), 'an image is no text')
})

test('INV-7: a snapshot before the end is a lower bound of what was generated, and its prompt figure stands', async () => {
  const begun = usage({ promptTokens: 1000, completionTokens: 1, cachedTokens: 900 })
  assert.deepEqual(await measured([branchOf(begun, text('x'.repeat(80)))]), {
    usage: { promptTokens: 1000, completionTokens: 20, cachedTokens: 900 },
    source: 'estimated',
  })
  const late = usage({ promptTokens: 1000, completionTokens: 50 })
  assert.deepEqual((await measured([branchOf(text('x'.repeat(80)), late)])).usage.completionTokens, 50)
})

test('the prompt is not counted where the provider said it', async () => {
  const asked: string[] = []
  const countTokens = (said: string): Promise<number> => {
    asked.push(said)
    return Promise.resolve(3)
  }
  const branches = [branchOf(usage({ promptTokens: 9 }), text('abc'))]
  await measure({ branches, request: requestOf(), countTokens })
  assert.deepEqual(asked, ['abc'])
})

test('text beyond what is kept is counted in proportion', async () => {
  const branch = createBranch()
  const piece = 'x'.repeat(1024)
  for (let length = 0; length < 4 * MAX_KEPT_TEXT; length += piece.length) tally(branch, text(piece))
  assert.ok(branch.keptLength <= MAX_KEPT_TEXT + piece.length)
  assert.equal((await measured([branch])).usage.completionTokens, MAX_KEPT_TEXT)
})

test('several calls are summed: each paid for its own prompt', () => {
  const branches = [1, 2, 3].map((n) =>
    branchOf(
      text('a'),
      finish(),
      usage({ promptTokens: 10, completionTokens: n, ...(n === 2 ? { cachedTokens: 4 } : {}) }),
    ),
  )
  assert.deepEqual(measured(branches), {
    usage: { promptTokens: 30, completionTokens: 6, cachedTokens: 4 },
    source: 'provider',
  })
})

test('of several calls only the unreported ones are estimated, and then the whole is an estimate', async () => {
  const reported = branchOf(text('a'), finish(), usage({ promptTokens: 10, completionTokens: 1 }))
  const request = requestOf({ messages: [{ role: 'user', content: 'y'.repeat(395) }] })
  assert.deepEqual(await measured([reported, branchOf(text('x'.repeat(40)))], request), {
    usage: { promptTokens: 110, completionTokens: 11 },
    source: 'estimated',
  })
})

test('whether anything was generated is told by text or by the provider’s figure', () => {
  assert.equal(generatedAnything([createBranch()]), false)
  assert.equal(generatedAnything([branchOf(usage({ promptTokens: 100, completionTokens: 0 }))]), false)
  assert.equal(generatedAnything([branchOf(usage({ completionTokens: 1 }))]), true)
  assert.equal(generatedAnything([createBranch(), branchOf(text('a'))]), true)
})

const count = fc.nat(1_000_000)
const figures = fc.record({
  promptTokens: count,
  completionTokens: count,
  cachedTokens: count,
  cacheWriteTokens: count,
  reasoningTokens: count,
})

test('R-C8: the sum over calls is the sum of their last figures, field by field', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(figures, figures), { minLength: 1, maxLength: 16 }), (calls) => {
      const branches = calls.map(([early, late]) => branchOf(usage(early), text('a'), usage(late), finish()))
      const { usage: sum, source } = measured(branches) as Measured
      assert.equal(source, 'provider')
      for (const field of Object.keys(calls[0]?.[1] ?? {}) as (keyof Usage)[]) {
        assert.equal(
          sum[field],
          calls.reduce((total, [, late]) => total + late[field], 0),
        )
      }
    }),
  )
})
