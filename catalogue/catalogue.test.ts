import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatRequest } from '../src/domain/chat.ts'
import { GatewayError } from '../src/domain/errors.ts'
import { pricePeriods } from '../src/features/models/price.ts'
import { PROVIDERS } from '../src/providers/index.ts'
import { modelOf, requestOf } from '../test/support/ledger/data-plane.ts'
import { DATA_HANDLING } from './data-handling.ts'
import { CATALOGUE } from './index.ts'

const ISO_DATE = /^\d{4}-\d{2}-\d{2}$/

test('no two models share an ID or an alias', () => {
  const names = CATALOGUE.flatMap((entry) => [entry.id, ...entry.aliases])
  assert.deepEqual(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  )
})

test('every model says where its price was read, and when', () => {
  for (const { id, source } of CATALOGUE) {
    assert.match(source.url, /^(https:\/\/|docs\/)/, id)
    assert.match(source.read, ISO_DATE, id)
  }
})

test('every price is exact in micro-dollars, and cached input is never more expensive than fresh', () => {
  for (const entry of CATALOGUE) {
    if (entry.pricing === null) continue
    assert.ok(pricePeriods(entry).length > 0, entry.id)
    const { cached_input_per_million: cached = 0, input_per_million: input } = entry.pricing
    assert.ok(cached <= input, entry.id)
  }
})

test('every model can be had somewhere, and fits its own window', () => {
  for (const { id, deployments, context_window, max_output_tokens } of CATALOGUE) {
    assert.ok(deployments.length > 0, id)
    assert.equal(new Set(deployments.map(({ provider }) => provider)).size, deployments.length, id)
    assert.ok((max_output_tokens ?? 0) <= context_window, id)
  }
})

test('dates are dates', () => {
  for (const { id, created, deprecation_date } of CATALOGUE) {
    assert.ok(Number.isSafeInteger(created) && created > 1_600_000_000, id)
    if (deprecation_date !== null) assert.match(deprecation_date, ISO_DATE, id)
  }
})

test('a replacement is here, and outlives what it replaces', () => {
  for (const { id, deprecation_date: date, replacement } of CATALOGUE) {
    if (replacement === undefined) continue
    const successor = CATALOGUE.find((entry) => entry.id === replacement)
    assert.ok(date !== null && successor !== undefined, id)
    assert.ok((successor.deprecation_date ?? '9999-12-31') > date, id)
  }
})

test('vision and the input modalities agree', () => {
  for (const { id, capabilities, input_modalities } of CATALOGUE) {
    assert.equal(input_modalities.includes('image'), capabilities.vision, id)
  }
})

test('what is published of data names its page, and reaches every deployment but those that retain', () => {
  for (const [provider, { source, retaining = [] }] of Object.entries(DATA_HANDLING)) {
    assert.ok(Object.hasOwn(PROVIDERS, provider), provider)
    assert.match(source.url, /^(https:\/\/|docs\/)/)
    assert.match(source.read, ISO_DATE)
    const models = CATALOGUE.flatMap(({ deployments }) => deployments.filter((each) => each.provider === provider))
    for (const name of retaining)
      assert.ok(
        models.some(({ model }) => model === name),
        name,
      )
  }
  const facts = new Map(
    CATALOGUE.flatMap(({ deployments }) =>
      deployments.map(({ provider, model, data_collection, zdr }) => [`${provider} ${model}`, [data_collection, zdr]]),
    ),
  )
  assert.deepEqual(facts.get('perplexity sonar'), ['deny', true])
  assert.deepEqual(facts.get('bedrock global.anthropic.claude-opus-4-8'), ['deny', true])
  assert.deepEqual(facts.get('bedrock global.anthropic.claude-fable-5'), ['deny', undefined])
  assert.deepEqual(facts.get('openai gpt-5.6-sol'), ['deny', undefined])
  assert.deepEqual(facts.get('deepseek deepseek-flash'), [undefined, undefined])
})

test('a model that is said to read PDF files or to follow schemas has a host whose protocol takes them', () => {
  const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } } as const
  const pdf = requestOf({ messages: [{ role: 'user', content: [file] }] })
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
  const answer = requestOf({ responseFormat: { type: 'json_schema', json_schema: { name: 'a', schema } } })
  for (const { id, kind = 'chat', deployments, ...entry } of CATALOGUE) {
    if (kind !== 'chat') continue
    const takes = (request: ChatRequest) => deployments.some((deployment) => isTaken(request, deployment))
    if (entry.input_modalities.includes('file')) assert.ok(takes(pdf), id)
    assert.equal(
      entry.supported_parameters.includes('structured_outputs'),
      takes(answer) && entry.capabilities.json_mode,
      id,
    )
  }
})

function isTaken(
  request: ChatRequest,
  { provider, model }: { readonly provider: string; readonly model: string },
): boolean {
  const { protocol } = PROVIDERS[provider] ?? assert.fail(provider)
  const { maxOutputTokens, price } = modelOf({})
  try {
    protocol.renderRequest(request, { model, maxOutputTokens, price })
    return true
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    return false
  }
}

interface Row {
  readonly group: string
  readonly model: string
  /** Tokens as the table rounds them. */
  readonly context: string
  /** Null: the table shows none. */
  readonly output: string | null
  readonly price: readonly [number, number] | null
}

/** The service interface's table, each row with the model that stands for it. */
const ROWS: readonly Row[] = [
  { group: 'largest reasoning', model: 'claude-opus-4-1', context: '200K', output: '32K', price: [15, 75] },
  { group: 'balanced', model: 'claude-sonnet-4', context: '200K', output: '16K', price: [3, 15] },
  { group: 'fastest', model: 'claude-3-5-haiku', context: '200K', output: '8K', price: [0.8, 4] },
  { group: 'multimodal', model: 'gpt-4o', context: '128K', output: '16K', price: [2.5, 10] },
  { group: 'smaller multimodal', model: 'gpt-4o-mini', context: '128K', output: '16K', price: [0.15, 0.6] },
  { group: 'advanced reasoning', model: 'o3', context: '200K', output: '100K', price: [10, 40] },
  { group: 'efficient reasoning', model: 'o4-mini', context: '200K', output: '100K', price: [1.1, 4.4] },
  { group: 'pro', model: 'gemini-2.5-pro', context: '1M', output: '65K', price: [1.25, 10] },
  { group: 'flash', model: 'gemini-2.5-flash-preview-04-17', context: '1M', output: '65K', price: [0.15, 0.6] },
  { group: 'previous flash', model: 'gemini-2.0-flash', context: '1M', output: '8K', price: null },
  { group: 'open, coding and reasoning', model: 'deepseek-v3', context: '128K', output: null, price: [0.27, 1.1] },
  { group: 'open, reasoning', model: 'deepseek-r1', context: '128K', output: null, price: [0.55, 2.19] },
  { group: 'open, very large context', model: 'llama-4-maverick', context: '1M', output: null, price: null },
  { group: 'open, code', model: 'devstral-small', context: '128K', output: null, price: null },
]

for (const row of ROWS) {
  test(`the interface's row "${row.group}" is ${row.model}`, () => {
    const entry = CATALOGUE.find(({ id, aliases }) => id === row.model || aliases.includes(row.model))
    assert.ok(entry)
    assert.equal(rounded(entry.context_window), row.context)
    if (row.output !== null) assert.equal(rounded(entry.max_output_tokens ?? 0), row.output)
    const { input_per_million, output_per_million } = entry.pricing ?? {}
    if (row.price !== null) assert.deepEqual([input_per_million, output_per_million], row.price)
  })
}

test('the interface’s rows keep its prices whatever the collections say', () => {
  const o3 = CATALOGUE.find(({ id }) => id === 'o3-2025-04-16')
  assert.deepEqual(o3?.pricing, { input_per_million: 10, output_per_million: 40 })
})

/** Models whose makers say how long their answers may be, and those of which nobody does. */
test('the longest answer is known of every model that is sold', () => {
  const chat = CATALOGUE.filter(({ kind = 'chat' }) => kind === 'chat')
  const unknown = chat.filter(({ max_output_tokens: limit }) => limit === null).map(({ id }) => id)
  assert.deepEqual(unknown, ['qwen2.5-coder-32b-instruct'])
})

/** As model cards round: 16 384 and 16 000 are both 16K, 1 048 576 is 1M. */
function rounded(tokens: number): string {
  return tokens >= 1_000_000 ? `${Math.floor(tokens / 1_000_000)}M` : `${Math.floor(tokens / 1000)}K`
}
