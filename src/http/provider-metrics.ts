/** Providers in the metrics: what became of calls to them, counted, and how they stand when somebody asks. */

import { Counter, Gauge, type Registry } from 'prom-client'
import type { AttemptNote, CompletionRecord } from '../domain/completion.ts'
import type { PriceEnd } from '../domain/price-ends.ts'
import type { DeploymentStatus, ProviderStatus } from '../domain/provider-status.ts'

/** Names of providers, which are the operator's: never more of them than the configuration had. */
type OutcomeCounts = Map<AttemptNote['provider'], Map<AttemptNote['outcome'], number>>

/** @returns Counts the calls of a completion. */
export function countAttempts(registry: Registry): (record: CompletionRecord) => void {
  const answeredAlone = new Map<string, number>()
  const noted: OutcomeCounts = new Map()
  new Counter({
    name: 'turnpike_provider_attempts_total',
    help: 'Calls to providers by what became of them.',
    labelNames: ['provider', 'outcome'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [provider, count] of answeredAlone) this.inc({ provider, outcome: 'answered' }, count)
      for (const [provider, counts] of noted) {
        for (const [outcome, count] of counts) this.inc({ provider, outcome }, count)
      }
    },
  })
  return ({ attemptLog, attempts, provider }) => {
    if (attemptLog !== undefined) for (const note of attemptLog) addNote(noted, note)
    else if (attempts > 0) answeredAlone.set(provider, (answeredAlone.get(provider) ?? 0) + 1)
  }
}

function addNote(noted: OutcomeCounts, { provider, outcome }: AttemptNote): void {
  let counts = noted.get(provider)
  if (counts === undefined) {
    counts = new Map()
    noted.set(provider, counts)
  }
  counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
}

/** Gauges of what `status` says at each scrape. */
export function showProviders(registry: Registry, status: () => readonly ProviderStatus[]): void {
  addProviderGauge(registry, status, {
    name: 'turnpike_provider_in_flight',
    help: 'Requests that have a place at the provider.',
    value: ({ inFlight }) => inFlight,
  })
  addProviderGauge(registry, status, {
    name: 'turnpike_provider_max_in_flight',
    help: 'Places at the provider, where they are limited.',
    value: ({ maxInFlight }) => maxInFlight,
  })
  addProviderGauge(registry, status, {
    name: 'turnpike_provider_queued',
    help: 'Requests that wait for a place at the provider.',
    value: ({ queued }) => queued,
  })
  addProviderGauge(registry, status, {
    name: 'turnpike_provider_cooling_credentials',
    help: 'Credentials that are not used for some or all models, since the provider limited or refused them.',
    value: ({ credentials }) => credentials.filter(({ coolingUntil }) => Object.keys(coolingUntil).length > 0).length,
  })
  new Gauge({
    name: 'turnpike_provider_breaker_open',
    help: '1 where a model is left alone at a provider since calls failed, 0.5 while one request tries it, else 0.',
    labelNames: ['provider', 'model'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { name: provider, deployments } of status()) {
        for (const { model, breaker } of deployments) this.set({ provider, model }, OPENNESS[breaker])
      }
    },
  })
}

const OPENNESS = { closed: 0, half_open: 0.5, open: 1 } as const satisfies Record<DeploymentStatus['breaker'], number>

interface ProviderGauge {
  readonly name: string
  readonly help: string
  /** Undefined: not shown. */
  readonly value: (provider: ProviderStatus) => number | undefined
}

function addProviderGauge(
  registry: Registry,
  status: () => readonly ProviderStatus[],
  { name, help, value }: ProviderGauge,
): void {
  new Gauge({
    name,
    help,
    labelNames: ['provider'],
    registers: [registry],
    collect() {
      this.reset()
      for (const provider of status()) {
        const shown = value(provider)
        if (shown !== undefined) this.set({ provider: provider.name }, shown)
      }
    },
  })
}

/** A gauge of models whose price ends soon, or has ended: they answer 503 from then on. */
export function showPriceEnds(registry: Registry, ends: () => readonly PriceEnd[]): void {
  new Gauge({
    name: 'turnpike_model_price_end_timestamp_seconds',
    help: 'When the price of a model ends without a successor, from a week before it on, as Unix time.',
    labelNames: ['model'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { model, endsAt } of ends()) this.set({ model }, endsAt / 1000)
    },
  })
}
