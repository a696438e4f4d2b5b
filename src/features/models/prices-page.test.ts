import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'
import { usdText } from '../../domain/money.ts'
import { type ChargeableUsage, priceUsage } from '../../domain/price.ts'
import { toPrice } from './price.ts'

const PAGE = readFileSync(new URL('../../../docs/prices.md', import.meta.url), 'utf8')

test('the examples of docs/prices.md cost what they say, under the rule that they name', () => {
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(PAGE) ?? []
  const price = toPrice(parse(yaml).models[0].pricing)
  const usages: readonly ChargeableUsage[] = [
    { prompt: 200_000, completion: 1000 },
    { prompt: 200_001, completion: 1000 },
    { prompt: 300_000, completion: 1000, cached: 250_000 },
    { prompt: 300_000, completion: 1000, serviceTier: 'flex' },
    { prompt: 1000, completion: 100, serverTools: { web_search: 3 } },
  ]
  const written = [...PAGE.matchAll(/\| `([a-z_0-9+]+)` \| ([\d.]+) \|$/gm)].map(([, rule, usd]) => [rule, usd])
  const computed = usages.map((usage) => {
    const { rule, nanoUsd } = priceUsage(usage, price)
    return [rule, usdText(nanoUsd)]
  })
  assert.deepEqual(written, computed)
})
