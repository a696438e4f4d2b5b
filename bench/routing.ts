/**
 * `npm run bench -- --routing`: CPU that routing costs a request: candidates of one model, in the ways in which they
 * can be ordered.
 */

import { candidatesOf, routeRequest } from '../src/gateway/routing/candidates.ts'
import { createHealth, type Route } from '../src/gateway/routing/health.ts'
import { record } from '../src/gateway/routing/measurements.ts'
import { preferredRoute } from '../src/gateway/routing/preferences.ts'
import { readProvider } from '../src/protocols/routing-fields.ts'
import { deployment, modelOf, playNetwork, requestOf, upstreamOf } from '../test/support/ledger/data-plane.ts'
import { BUDGETS } from './budgets.ts'
import { printVerdicts } from './report.ts'

const CANDIDATES = 500
const WARM_UP = 2_000
const ROUNDS = 10_000

interface RoutingCost {
  readonly name: string
  readonly microseconds: number
}

/** Microseconds a request, `CANDIDATES` deployments of one model. */
function routingCosts(): readonly RoutingCost[] {
  const { transport } = playNetwork(() => ({}))
  const names = Array.from({ length: CANDIDATES }, (_, at) => `p${at}`)
  const upstreams = new Map(names.map((name) => [name, upstreamOf({ transport, name })]))
  const health = createHealth({
    clock: () => performance.now(),
    now: Date.now,
    random: Math.random,
    settings: () => ({ retryBudget: 0.2, breaker: { failures: 5, openMs: 30_000 } }),
  })
  const input = { health, provider: (name: string) => upstreams.get(name) }
  const price = { inputMicroUsd: 1_000_000, outputMicroUsd: 2_000_000 }
  const model = { ...modelOf({ deployments: names.map((name) => deployment(name)) }), price }
  for (const { deployment: each } of candidatesOf(model, input).candidates) {
    for (let i = 0; i < 20; i++) {
      record(each.measurements.firstEvent, 100 + Math.random() * 1000, performance.now())
      record(each.measurements.speed, 10 + Math.random() * 100, performance.now())
    }
  }
  const request = requestOf()
  const routed = { accountId: 'acc_1', model, request }
  const preferred = (provider: object) => {
    const { preferences } = readProvider(provider, 'provider')
    return (): Route => preferredRoute({ ...routed, preferences }, input)
  }
  return [
    { name: 'drawn by weight', microseconds: costOf(() => routeRequest(routed, input)) },
    { name: 'sort by latency', microseconds: costOf(preferred({ sort: 'latency' })) },
    { name: 'sort by throughput', microseconds: costOf(preferred({ sort: 'throughput' })) },
    { name: 'order and ignore', microseconds: costOf(preferred({ order: ['p7', 'p3'], ignore: ['p1'] })) },
  ]
}

let sink = 0

function costOf(route: () => Route): number {
  for (let i = 0; i < WARM_UP; i++) sink += route().candidates.length
  const from = process.cpuUsage()
  for (let i = 0; i < ROUNDS; i++) sink += route().candidates.length
  const { user, system } = process.cpuUsage(from)
  return (user + system) / ROUNDS
}

/** Resolves to whether the budget holds. */
export async function benchRouting(): Promise<boolean> {
  const verdicts = routingCosts().map(({ name, microseconds: measured }) => {
    const figure = `microseconds to route a request, ${CANDIDATES} candidates, ${name}`
    return { figure, measured, budget: BUDGETS.routingMicroseconds }
  })
  if (sink === 0) throw new Error('Nothing was routed.')
  return printVerdicts(verdicts)
}
