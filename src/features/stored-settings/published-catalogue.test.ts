import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogueChanges, isNewerRelease, isRelease } from './published-catalogue.ts'

const entry = (id: string, pricing: object | null, over: object = {}) => ({ id, name: id, pricing, ...over })
const PRICE = { input_per_million: 1, output_per_million: 4 }

test('every difference is a line: new models, models that are gone, and each value that changes', () => {
  const before = [entry('a', PRICE, { context_window: 1000, aliases: ['x'] }), entry('b', null)]
  const after = [
    entry('a', { ...PRICE, output_per_million: 5 }, { context_window: 2000, aliases: ['x', 'y'], note: 'why' }),
    entry('c', PRICE),
    entry('d', null),
  ]
  assert.deepEqual(catalogueChanges(before, after), {
    lines: [
      '~ a pricing.output_per_million: 4 → 5',
      '~ a context_window: 1000 → 2000',
      '~ a aliases.1: — → y',
      '- b',
      '+ c (1 in, 4 out per million tokens)',
      '+ d (no price)',
    ],
    rises: [],
  })
  assert.deepEqual(catalogueChanges(before, before).lines, [])
})

const RISES: readonly (readonly [before: object | null, after: object | null, path: string | undefined])[] = [
  [PRICE, { ...PRICE, input_per_million: 2 }, undefined],
  [PRICE, { ...PRICE, input_per_million: 2.01 }, 'input_per_million'],
  [{ ...PRICE, input_per_million: 0 }, PRICE, 'input_per_million'],
  [PRICE, { ...PRICE, cached_input_per_million: 3 }, 'cached_input_per_million'],
  [PRICE, { ...PRICE, cached_input_per_million: 0.1 }, undefined],
  [PRICE, { ...PRICE, reasoning_output_per_million: 9 }, 'reasoning_output_per_million'],
  [
    PRICE,
    { ...PRICE, service_tiers: { priority: { input_per_million: 2.5 } } },
    'service_tiers.priority.input_per_million',
  ],
  [PRICE, { ...PRICE, successors: [{ ...PRICE, output_per_million: 9 }] }, 'successors.0.output_per_million'],
  [PRICE, { ...PRICE, per_request_usd: 0.01 }, 'per_request_usd'],
  [PRICE, { ...PRICE, server_tools: { web_search: 10 } }, undefined],
  [
    { ...PRICE, tiers: [{ above_prompt_tokens: 200_000, input_per_million: 2 }] },
    { ...PRICE, tiers: [{ above_prompt_tokens: 50_000, input_per_million: 2 }] },
    'tiers.0.above_prompt_tokens',
  ],
  [null, { ...PRICE, input_per_million: 99 }, undefined],
  [PRICE, null, undefined],
]

for (const [before, after, path] of RISES) {
  test(`${JSON.stringify(before)} to ${JSON.stringify(after)} rises in ${path ?? 'nothing'}`, () => {
    const { rises } = catalogueChanges([entry('a', before)], [entry('a', after)])
    assert.deepEqual(
      rises.map((line) => line.split(/[ :]/)[2]),
      path === undefined ? [] : [`pricing.${path}`],
    )
  })
}

test('numbers are compared one by one; a preview comes before its release', () => {
  const newer = [
    ['0.3.0', '0.2.9'],
    ['0.10.0', '0.9.9'],
    ['1.0.0', '0.99.99'],
    ['0.2.1', '0.2.0'],
    ['0.3.0', '0.3.0-rc.1'],
  ] as const
  for (const [one, other] of newer) {
    assert.ok(isNewerRelease(one, other), `${one} ${other}`)
    assert.ok(!isNewerRelease(other, one), `${other} ${one}`)
  }
  for (const same of ['0.2.0', '0.2.0+build.7']) assert.ok(!isNewerRelease('0.2.0', same), same)
  assert.ok(!isNewerRelease('0.2.0', '0.3.0-rc.1'))
  assert.ok(!isNewerRelease('0.2.0', 'unknown'))
})

test('only versions of releases are releases', () => {
  assert.ok(isRelease('0.3.0'))
  for (const text of ['0.3', '0.3.0-rc.1', 'v0.3.0', '0.3.0\n', '', 3, undefined, '9'.repeat(10)])
    assert.ok(!isRelease(text))
})
