import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countQuarters, requestOf } from '../../../test/support/ledger/data-plane.ts'
import type { ChatEvent, ChatRequest, Usage } from '../../domain/chat.ts'
import { type Bounds, type Measured, measure, measureRoughly } from './measure.ts'
import { type CallUsage, createCallUsage, generatedAnything, MAX_KEPT_TEXT, meter } from './meter.ts'

function branchOf(...events: readonly ChatEvent[]): CallUsage {
  const call = createCallUsage()
  for (const event of events) meter(call, event)
  return call
}

const text = (said: string): ChatEvent => ({ type: 'text', index: 0, text: said })
const usage = (counted: Usage): ChatEvent => ({ type: 'usage', usage: counted })
const finish = (index = 0): ChatEvent => ({ type: 'finish', index, reason: 'stop', raw: 'stop' })

const BOUNDS: Bounds = {
  promptTokens: 10,
  mediaTokens: 0,
  promptLimit: 1_000_000_000,
  outputTokens: 1_000_000_000,
}

function measured(usages: readonly CallUsage[], request: ChatRequest = requestOf()): Promise<Measured> | Measured {
  return measure({ usages, request, bounds: BOUNDS, countTokens: countQuarters })
}

test('R-C2: the provider’s figures take precedence over our own count, which is not needed', () => {
  const call = branchOf(text('x'.repeat(48)), finish(), usage({ promptTokens: 7, completionTokens: 3 }))
  const counted = measure({
    usages: [call],
    request: requestOf(),
    bounds: BOUNDS,
    countTokens: () => assert.fail('counted'),
  })
  assert.deepEqual(counted, { usage: { promptTokens: 7, completionTokens: 3 }, source: 'provider' })
})

test('R-C8, TM15: of several reports the greatest figure of each field counts, and nothing is added up', () => {
  const call = branchOf(
    usage({ promptTokens: 100, completionTokens: 1, cachedTokens: 40 }),
    text('a'),
    usage({ completionTokens: 25 }),
    usage({ completionTokens: 30, reasoningTokens: 12 }),
    usage({ promptTokens: 0, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0 }),
    finish(),
  )
  assert.deepEqual(measured([call]), {
    usage: { promptTokens: 100, completionTokens: 30, cachedTokens: 40, reasoningTokens: 12 },
    source: 'provider',
  })
})

test('R-C3: usage before the finish counts like usage after it', () => {
  const call = branchOf(text('a'), usage({ promptTokens: 5, completionTokens: 1 }), finish())
  assert.deepEqual(measured([call]), { usage: { promptTokens: 5, completionTokens: 1 }, source: 'provider' })
})

test('without usage all output and the whole prompt are counted, marked as an estimate', async () => {
  const call = branchOf(
    { type: 'reasoning', index: 0, text: 'r'.repeat(8) },
    text('t'.repeat(8)),
    { type: 'refusal', index: 0, text: 'n'.repeat(8) },
    { type: 'tool-call', index: 0, toolIndex: 0, id: 'call_1', name: 'n'.repeat(8), arguments: 'a'.repeat(4) },
    { type: 'tool-call', index: 0, toolIndex: 0, arguments: 'a'.repeat(4) },
    { type: 'extension', index: 0, field: 'annotations', value: ['x'.repeat(4000)] },
    finish(),
  )
  const request = requestOf({ messages: [{ role: 'user', content: 'y'.repeat(395) }] })
  assert.deepEqual(await measured([call], request), {
    usage: { promptTokens: 100, completionTokens: 10, reasoningTokens: 2 },
    source: 'estimated',
  })
})

test('the estimate of the prompt includes all parts that a model reads', async () => {
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
  await measure({ usages: [branchOf(text('a'))], request, bounds: BOUNDS, countTokens })
  const prompt = asked.find((said) => said.includes('SYSTEM')) ?? assert.fail('the prompt was not counted')
  for (const word of ['PART', 'NAME', 'ARGUMENTS', 'RESULT', 'TOOL', 'DESCRIPTION']) assert.ok(prompt.includes(word))
  assert.ok(!prompt.includes('URL'), 'an image is no text')
})

test('INV-7: a report before the end is a lower bound of the output, and its prompt figure is final', async () => {
  const begun = usage({ promptTokens: 1000, completionTokens: 1, cachedTokens: 900 })
  assert.deepEqual(await measured([branchOf(begun, text('x'.repeat(80)))]), {
    usage: { promptTokens: 1000, completionTokens: 20, cachedTokens: 900 },
    source: 'estimated',
  })
  const late = usage({ promptTokens: 1000, completionTokens: 50 })
  assert.deepEqual((await measured([branchOf(text('x'.repeat(80)), late)])).usage.completionTokens, 50)
})

test('the prompt is not counted if the provider reported it', async () => {
  const asked: string[] = []
  const countTokens = (said: string): Promise<number> => {
    asked.push(said)
    return Promise.resolve(3)
  }
  const usages = [branchOf(usage({ promptTokens: 9 }), text('abc'))]
  await measure({ usages, request: requestOf(), bounds: BOUNDS, countTokens })
  assert.deepEqual(asked, ['abc'])
})

test('text beyond the kept part is extrapolated [limit: kept-text]', async () => {
  const call = createCallUsage()
  const piece = 'x'.repeat(1024)
  for (let length = 0; length < 4 * MAX_KEPT_TEXT; length += piece.length) meter(call, text(piece))
  assert.ok(call.keptLength <= MAX_KEPT_TEXT + piece.length)
  assert.equal((await measured([call])).usage.completionTokens, MAX_KEPT_TEXT)
})

test('several calls are summed: each paid for its own prompt', () => {
  const usages = [1, 2, 3].map((n) =>
    branchOf(
      text('a'),
      finish(),
      usage({ promptTokens: 10, completionTokens: n, ...(n === 2 ? { cachedTokens: 4 } : {}) }),
    ),
  )
  assert.deepEqual(measured(usages), {
    usage: { promptTokens: 30, completionTokens: 6, cachedTokens: 4 },
    source: 'provider',
  })
})

test('of several calls only the unreported ones are estimated, which makes the whole an estimate', async () => {
  const reported = branchOf(text('a'), finish(), usage({ promptTokens: 10, completionTokens: 1 }))
  const request = requestOf({ messages: [{ role: 'user', content: 'y'.repeat(395) }] })
  assert.deepEqual(await measured([reported, branchOf(text('x'.repeat(40)))], request), {
    usage: { promptTokens: 110, completionTokens: 11 },
    source: 'estimated',
  })
})

test('text or the provider’s figure shows whether anything was generated', () => {
  assert.equal(generatedAnything([createCallUsage()]), false)
  assert.equal(generatedAnything([branchOf(usage({ promptTokens: 100, completionTokens: 0 }))]), false)
  assert.equal(generatedAnything([branchOf(usage({ completionTokens: 1 }))]), true)
  assert.equal(generatedAnything([createCallUsage(), branchOf(text('a'))]), true)
})

const count = fc.integer({ min: 1_000, max: 1_000_000 })
const part = fc.nat(500)
const figures = fc.record({
  promptTokens: count,
  completionTokens: count,
  cachedTokens: part,
  cacheWriteTokens: part,
  reasoningTokens: part,
  cacheWrite1hTokens: part,
  audioInputTokens: part,
  audioOutputTokens: part,
})
type Figures = typeof figures extends fc.Arbitrary<infer Value> ? Value : never

test('the sum over calls adds uses of tools by name, and has the service tier of the last call with one', () => {
  const one = { promptTokens: 1, completionTokens: 1, serverToolUses: { web_search: 2 }, serviceTier: 'flex' }
  const other = { promptTokens: 2, completionTokens: 2, serverToolUses: { web_search: 1, code_execution: 4 } }
  const usages = [one, other].map((figures) => branchOf(text('a'), usage(figures), finish()))
  assert.deepEqual((measured(usages) as Measured).usage, {
    promptTokens: 3,
    completionTokens: 3,
    serverToolUses: { web_search: 3, code_execution: 4 },
    serviceTier: 'flex',
  })
})

test('R-C8, TM15: the sum over calls is the sum of their greatest figures, field by field', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(figures, figures), { minLength: 1, maxLength: 16 }), (calls) => {
      const usages = calls.map(([early, late]) => branchOf(usage(early), text('a'), usage(late), finish()))
      const { usage: sum, source } = measured(usages) as Measured
      assert.equal(source, 'provider')
      for (const field of Object.keys(calls[0]?.[1] ?? {}) as (keyof Figures)[]) {
        assert.equal(
          sum[field],
          calls.reduce((total, [early, late]) => total + Math.max(early[field], late[field]), 0),
        )
      }
    }),
  )
})

/** A hundred tokens were asked for, of a prompt that can be 500 at most. */
const NARROW: Bounds = { promptTokens: 10, mediaTokens: 0, promptLimit: 500, outputTokens: 100 }
const heldAgainst = (call: CallUsage, bounds: Bounds = NARROW): Promise<Measured> | Measured =>
  measure({ usages: [call], request: requestOf(), bounds, countTokens: countQuarters })

test('F8, TM15: figures within the request’s limits are accepted, even with little text', async () => {
  for (const counted of [
    { promptTokens: 7, completionTokens: 100 },
    { promptTokens: 500, completionTokens: 1 },
    { promptTokens: 7, completionTokens: 100, reasoningTokens: 100, cachedTokens: 7, cacheWriteTokens: 0 },
    { promptTokens: 0, completionTokens: 1 },
  ]) {
    const figures = await heldAgainst(branchOf(text('abcd'), finish(), usage(counted)))
    assert.deepEqual(figures, { usage: counted, source: 'provider' })
  }
})

test('F8, TM15: more tokens than requested are charged at the limit, and marked', async () => {
  for (const lie of [101, 1e12, Number.MAX_SAFE_INTEGER * 3]) {
    const reported = { promptTokens: 7, completionTokens: lie, reasoningTokens: lie }
    assert.deepEqual(await heldAgainst(branchOf(text('hi'), finish(), usage(reported))), {
      usage: { promptTokens: 7, completionTokens: 100, reasoningTokens: 100 },
      source: 'bounded',
      reported,
    })
  }
})

test('TM15: text beyond the limit counts up to twice the limit plus 1024 tokens, and no token is shorter than a byte', async () => {
  const chargedFor = async (length: number, completionTokens: number): Promise<number> => {
    const counted = usage({ promptTokens: 7, completionTokens })
    return (await heldAgainst(branchOf(text('x'.repeat(length)), finish(), counted))).usage.completionTokens
  }
  assert.deepEqual([await chargedFor(400, 150), await chargedFor(400, 500)], [150, 400])
  assert.deepEqual([await chargedFor(40_000, 10_000), await chargedFor(4_000_000, 1_000_000)], [1224, 1224])
})

test('TM15: an impossibly large prompt is charged at its limit, with its cache figures within it', async () => {
  const reported = { promptTokens: 1e12, cachedTokens: 1e11, cacheWriteTokens: 9, completionTokens: 3 }
  assert.deepEqual(await heldAgainst(branchOf(text('abcd'), finish(), usage(reported))), {
    usage: { promptTokens: 500, cachedTokens: 500, cacheWriteTokens: 0, completionTokens: 3 },
    source: 'bounded',
    reported,
  })
})

test('TM15: 20,000 delivered tokens are never free: at least a sixteenth of our own count is charged', async () => {
  const bounds = { ...NARROW, outputTokens: 50_000 }
  for (const completionTokens of [0, 1, 1_000]) {
    const reported = usage({ promptTokens: 7, completionTokens })
    const figures = await heldAgainst(branchOf(text('abcd'.repeat(20_000)), finish(), reported), bounds)
    assert.deepEqual([figures.usage.completionTokens, figures.source], [1_250, 'bounded'])
  }
})

test('TM15: tools that run at the provider are charged up to their possible uses, and other tools never', async () => {
  const bounds = { ...NARROW, toolUses: { web_search: 2 } }
  const reportedAs = async (serverToolUses: Readonly<Record<string, number>>): Promise<unknown[]> => {
    const reported = usage({ promptTokens: 7, completionTokens: 1, serverToolUses })
    const figures = await heldAgainst(branchOf(text('a'), finish(), reported), bounds)
    return [figures.usage.serverToolUses, figures.source]
  }
  assert.deepEqual(await reportedAs({ web_search: 2 }), [{ web_search: 2 }, 'provider'])
  assert.deepEqual(await reportedAs({ web_search: 1e6, toString: 3 }), [{ web_search: 2 }, 'bounded'])
})

test('TM15: a long prompt is never free', async () => {
  const request = requestOf({ messages: [{ role: 'user', content: 'y'.repeat(39_995) }] })
  const bounds = { ...NARROW, promptTokens: 13_000, promptLimit: 40_000 }
  const usages = [branchOf(text('a'), finish(), usage({ promptTokens: 0, completionTokens: 1 }))]
  const { usage: charged, source } = await measure({ usages, request, bounds, countTokens: countQuarters })
  assert.deepEqual([charged.promptTokens, source], [625, 'bounded'])
})

test('TM15: few tokens for much text are accepted if our own count confirms them', async () => {
  const spaces = branchOf(text(' '.repeat(10_240)), finish(), usage({ promptTokens: 7, completionTokens: 80 }))
  const measured = await measure({
    usages: [spaces],
    request: requestOf(),
    bounds: NARROW,
    countTokens: (said) => Promise.resolve(Math.ceil(said.length / 128)),
  })
  assert.equal(measured.source, 'provider')
})

test('TM15: without a tokenizer the longest possible token determines the minimum', async () => {
  const usages = [branchOf(text('x'.repeat(12_800)), finish(), usage({ promptTokens: 7, completionTokens: 1 }))]
  const countTokens = (): Promise<number> => Promise.reject(new Error('no tokenizer'))
  const { usage: charged } = await measure({ usages, request: requestOf(), bounds: NARROW, countTokens })
  assert.equal(charged.completionTokens, 100)
})

test('F8: a value that is not a number is no figure', async () => {
  const said = usage({ promptTokens: 7, completionTokens: Number.NaN })
  const figures = await heldAgainst(branchOf(text('x'.repeat(40)), finish(), said))
  assert.deepEqual([figures.usage.completionTokens, figures.source], [10, 'estimated'])
})

test('F8: false figures before a break are limited by the same bounds', async () => {
  const call = branchOf(text('x'.repeat(40)), usage({ promptTokens: 7, completionTokens: 1e12 }))
  const figures = await heldAgainst(call)
  assert.deepEqual([figures.usage.completionTokens, figures.source], [100, 'estimated'])
})

test('TM15: whatever is reported, the charge is between the delivered and the requested tokens', async () => {
  const any = fc.oneof(fc.nat(), fc.constantFrom(0, 1e300, Number.NaN, Number.POSITIVE_INFINITY))
  const piece = fc.oneof(fc.nat(), fc.constantFrom(0, 1e300))
  const said = fc.record({ promptTokens: any, completionTokens: any, cachedTokens: piece, reasoningTokens: piece })
  await fc.assert(
    fc.asyncProperty(fc.array(said, { maxLength: 4 }), fc.nat({ max: 20_000 }), async (snapshots, length) => {
      const call = branchOf(text('x'.repeat(length)), ...snapshots.map(usage), finish())
      const { usage: charged } = await heldAgainst(call)
      assert.ok(charged.promptTokens >= 0 && charged.promptTokens <= 500)
      assert.ok(charged.completionTokens <= 1224 && charged.completionTokens >= Math.min(1224, Math.floor(length / 64)))
    }),
  )
})

test('a rough count needs no tokenizer: four bytes a token, or the provider’s figures if they are higher', () => {
  const rough = (...usages: CallUsage[]): unknown => measureRoughly(usages, NARROW)
  assert.deepEqual(rough(), { promptTokens: 10, completionTokens: 0 })
  assert.deepEqual(rough(branchOf(text('x'.repeat(41)))), { promptTokens: 10, completionTokens: 11 })
  const growing = branchOf(text('漢字'))
  assert.deepEqual(rough(growing), { promptTokens: 10, completionTokens: 2 })
  meter(growing, text('漢字'))
  assert.deepEqual(rough(growing), { promptTokens: 10, completionTokens: 3 })
  const reported = usage({ promptTokens: 30, completionTokens: 20 })
  assert.deepEqual(rough(branchOf(text('x'.repeat(41)), reported)), { promptTokens: 30, completionTokens: 20 })
  assert.deepEqual(rough(branchOf(reported), branchOf(text('abcd'))), { promptTokens: 10, completionTokens: 21 })
})
