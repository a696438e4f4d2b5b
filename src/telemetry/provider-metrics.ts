/** Providers in the metrics: what became of calls to them, counted, and how they stand when somebody asks. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { AttemptNote, CompletionRecord } from '../domain/completion.ts'
import type { PriceEnd } from '../domain/model.ts'
import type { DeploymentStatus, ProviderStatus } from '../domain/provider-status.ts'

/** By provider: as many as the configuration had. */
type OutcomeCounts = Map<AttemptNote['provider'], Map<AttemptNote['outcome'], number>>

/** @returns Counts the attempts of a completion. */
export function countAttempts(registry: Registry): (record: CompletionRecord) => void {
  const answeredAlone = new Map<string, number>()
  const noted: OutcomeCounts = new Map()
  new Counter({
    name: 'turnpike_provider_attempts_total',
    help: 'Attempts at providers by outcome.',
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

/** Exports the status of providers at each scrape. */
export function showProviders(registry: Registry, status: () => readonly ProviderStatus[]): void {
  new Counter({
    name: 'turnpike_provider_cost_unbilled_usd_total',
    help: 'Estimated cost of attempts that ended before their first event, which the operator pays.',
    labelNames: ['provider'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { name: provider, unbilledNanoUsd } of status()) this.inc({ provider }, Number(unbilledNanoUsd) / 1e9)
    },
  })
  addProviderGauge(registry, status, {
    name: 'turnpike_provider_in_flight',
    help: 'Requests in flight at the provider.',
    value: ({ inFlight }) => inFlight,
  })
  addProviderGauge(registry, status, {
    name: 'turnpike_provider_max_in_flight',
    help: 'Concurrency limit of the provider, where there is one.',
    value: ({ maxInFlight }) => maxInFlight,
  })
  addProviderGauge(registry, status, {
    name: 'turnpike_provider_queued',
    help: 'Requests queued for the concurrency limit of the provider.',
    value: ({ queued }) => queued,
  })
  addProviderGauge(registry, status, {
    name: 'turnpike_provider_cooling_credentials',
    help: 'Credentials in cooldown for some or all models, since the provider limited or rejected them.',
    value: ({ credentials }) => credentials.filter(({ coolingUntil }) => Object.keys(coolingUntil).length > 0).length,
  })
  new Gauge({
    name: 'turnpike_provider_breaker_open',
    help: 'Circuit breaker of a model at a provider: 1 open, 0.5 half open, 0 closed.',
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
  /** Undefined: not exported. */
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

/** Exports models whose price ends soon or has ended; without a price they respond 503. */
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
