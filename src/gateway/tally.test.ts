import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countQuarters, requestOf } from '../../test/support/data-plane.ts'
import type { ChatEvent, ChatRequest, Usage } from '../domain/chat.ts'
import {
  type Bounds,
  type Branch,
  createBranch,
  generatedAnything,
  MAX_KEPT_TEXT,
  type Measured,
  measure,
  measureRoughly,
  tally,
} from './tally.ts'

function branchOf(...events: readonly ChatEvent[]): Branch {
  const branch = createBranch()
  for (const event of events) tally(branch, event)
  return branch
}

const text = (said: string): ChatEvent => ({ type: 'text', index: 0, text: said })
const usage = (counted: Usage): ChatEvent => ({ type: 'usage', usage: counted })
const finish = (index = 0): ChatEvent => ({ type: 'finish', index, reason: 'stop', raw: 'stop' })

const BOUNDS: Bounds = { promptTokens: 10, outputTokens: 1_000_000, windowTokens: 1_000_000 }

function measured(branches: readonly Branch[], request: ChatRequest = requestOf()): Promise<Measured> | Measured {
  return measure({ branches, request, bounds: BOUNDS, countTokens: countQuarters })
}

test('R-C2: the provider’s figures win over any count of ours, and need none', () => {
  const branch = branchOf(text('x'.repeat(400)), finish(), usage({ promptTokens: 7, completionTokens: 3 }))
  const counted = measure({
    branches: [branch],
    request: requestOf(),
    bounds: BOUNDS,
    countTokens: () => assert.fail('counted'),
  })
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
  await measure({ branches: [branchOf(text('a'))], request, bounds: BOUNDS, countTokens })
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
  await measure({ branches, request: requestOf(), bounds: BOUNDS, countTokens })
  assert.deepEqual(asked, ['abc'])
})

test('text beyond what is kept is counted in proportion [limit: kept-text]', async () => {
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
  cacheWrite1hTokens: count,
  audioInputTokens: count,
  audioOutputTokens: count,
})
type Figures = typeof figures extends fc.Arbitrary<infer Value> ? Value : never

test('the sum over calls adds up uses of tools by name, and names the service tier of the last call that has one', () => {
  const one = { promptTokens: 1, completionTokens: 1, serverToolUses: { web_search: 2 }, serviceTier: 'flex' }
  const other = { promptTokens: 2, completionTokens: 2, serverToolUses: { web_search: 1, code_execution: 4 } }
  const branches = [one, other].map((figures) => branchOf(text('a'), usage(figures), finish()))
  assert.deepEqual((measured(branches) as Measured).usage, {
    promptTokens: 3,
    completionTokens: 3,
    serverToolUses: { web_search: 3, code_execution: 4 },
    serviceTier: 'flex',
  })
})

test('R-C8: the sum over calls is the sum of their last figures, field by field', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(figures, figures), { minLength: 1, maxLength: 16 }), (calls) => {
      const branches = calls.map(([early, late]) => branchOf(usage(early), text('a'), usage(late), finish()))
      const { usage: sum, source } = measured(branches) as Measured
      assert.equal(source, 'provider')
      for (const field of Object.keys(calls[0]?.[1] ?? {}) as (keyof Figures)[]) {
        assert.equal(
          sum[field],
          calls.reduce((total, [, late]) => total + late[field], 0),
        )
      }
    }),
  )
})

/** A hundred tokens were asked for, of a model with a window of a thousand. */
const NARROW: Bounds = { promptTokens: 10, outputTokens: 100, windowTokens: 1000 }
const heldAgainst = (branch: Branch): Promise<Measured> | Measured =>
  measure({ branches: [branch], request: requestOf(), bounds: NARROW, countTokens: countQuarters })

test('F8, TM15: figures that can be are believed, also where little text came', async () => {
  for (const counted of [
    { promptTokens: 7, completionTokens: 100 },
    { promptTokens: 7, completionTokens: 2 * (4 + 100) + 256 },
    { promptTokens: 2 * (10 + 1000) + 256, completionTokens: 1 },
    { promptTokens: 7, completionTokens: 1300, reasoningTokens: 1000 },
    { promptTokens: 0, completionTokens: 0 },
  ]) {
    const figures = await heldAgainst(branchOf(text('abcd'), finish(), usage(counted)))
    assert.deepEqual(figures, { usage: counted, source: 'provider' })
  }
})

test('F8, TM15: more tokens than can be are not believed: our own count is charged, marked as an estimate', async () => {
  const own = { completionTokens: 10, promptTokens: 7 }
  const generated = text('x'.repeat(40))
  for (const lie of [2 * (40 + 100) + 257, 1e12, Number.MAX_SAFE_INTEGER * 3, Number.NaN]) {
    const figures = await heldAgainst(branchOf(generated, finish(), usage({ promptTokens: 7, completionTokens: lie })))
    assert.deepEqual(figures, { usage: own, source: 'estimated' }, String(lie))
  }
  const hidden = usage({ promptTokens: 7, completionTokens: 1e9, reasoningTokens: 1e9 })
  assert.deepEqual(await heldAgainst(branchOf(generated, finish(), hidden)), { usage: own, source: 'estimated' })
})

test('F8, TM15: a prompt larger than any window is not believed, nor what is said of its cache', async () => {
  const lie = usage({ promptTokens: 1e12, cachedTokens: 1e11, completionTokens: 3, reasoningTokens: 1 })
  const { usage: counted, source } = await heldAgainst(branchOf(text('abcd'), finish(), lie))
  assert.equal(source, 'estimated')
  assert.deepEqual(counted, { promptTokens: 2, completionTokens: 3, reasoningTokens: 1 })
})

test('F8: a lie on the way to a break is not believed either', async () => {
  const branch = branchOf(text('x'.repeat(40)), usage({ promptTokens: 7, completionTokens: 1e12 }))
  assert.equal((await heldAgainst(branch)).usage.completionTokens, 10)
})

test('of several calls one lie makes the whole an estimate, and only that call is counted anew', async () => {
  const honest = branchOf(text('abcd'), finish(), usage({ promptTokens: 7, completionTokens: 3 }))
  const lying = branchOf(text('x'.repeat(40)), finish(), usage({ promptTokens: 7, completionTokens: 1e12 }))
  const measured = await measure({
    branches: [honest, lying],
    request: requestOf(),
    bounds: NARROW,
    countTokens: countQuarters,
  })
  assert.deepEqual(measured, { usage: { promptTokens: 14, completionTokens: 13 }, source: 'estimated' })
})

test('a rough count asks no tokenizer: four bytes a token, the provider’s figures where they are more', () => {
  const rough = (...branches: Branch[]): unknown => measureRoughly(branches, NARROW)
  assert.deepEqual(rough(), { promptTokens: 10, completionTokens: 0 })
  assert.deepEqual(rough(branchOf(text('x'.repeat(41)))), { promptTokens: 10, completionTokens: 11 })
  const growing = branchOf(text('漢字'))
  assert.deepEqual(rough(growing), { promptTokens: 10, completionTokens: 2 })
  tally(growing, text('漢字'))
  assert.deepEqual(rough(growing), { promptTokens: 10, completionTokens: 3 })
  const reported = usage({ promptTokens: 30, completionTokens: 20 })
  assert.deepEqual(rough(branchOf(text('x'.repeat(41)), reported)), { promptTokens: 30, completionTokens: 20 })
  assert.deepEqual(rough(branchOf(reported), branchOf(text('abcd'))), { promptTokens: 10, completionTokens: 21 })
})
