/** The state of the data plane that a reload replaces: providers, models, plans, routing, responses. */
import { randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Config } from '../config/schema.ts'
import type { OpenedDatabase } from '../db/database.ts'
import type { Database } from '../db/schema/schema.ts'
import { createIdSource, type IdSource } from '../domain/ids.ts'
import { endingPrices } from '../domain/model.ts'
import { recordPlanAllowances } from '../features/credit/audit/store.ts'
import { type PlanTerms, planTerms } from '../features/credit/ledger/unit.ts'
import { buildModelBook } from '../features/models/book.ts'
import { markupOf, planBook } from '../features/models/price.ts'
import type { StoredSettingsPort } from '../features/stored-settings/routes.ts'
import { recordPriceVersions } from '../features/usage/queries.ts'
import type { ModelBook } from '../gateway/ports.ts'
import { createHealth, type Health, type RoutingSettings } from '../gateway/routing/health.ts'
import { type ConfiguredProvider, createUpstreams, type Upstreams } from '../gateway/upstream/transport.ts'
import { type ProviderConfig, resolveProvider } from '../providers/index.ts'
import type { Log } from '../telemetry/log.ts'
import { type Merged, mergeStoredSettings } from './stored-settings.ts'

export interface Runtime {
  readonly ids: IdSource
  /** Unix milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly upstreams: Upstreams
  /** Health of providers; a reload keeps that of the remaining ones. */
  readonly health: Health
  readonly models: () => ModelBook
  /** The models at the prices of a plan. */
  readonly modelsOf: (plan: string) => ModelBook
  readonly config: () => Config
  /** Current credit terms of a plan. */
  readonly termsOf: (plan: string) => PlanTerms
  /** The models and providers that the database adds to those of the file. */
  readonly stored: StoredSettingsPort
  /** Applies another configuration of the file. Rejects without effect if it is inconsistent. */
  reload(file: Config): Promise<void>
  close(): Promise<void>
}

interface RuntimeInput {
  readonly config: Config
  readonly database: OpenedDatabase
  readonly log: Log
  /** The installation's secret. */
  readonly secret: Uint8Array
}

export async function createRuntime({ config: file, database, log, secret }: RuntimeInput): Promise<Runtime> {
  const { db } = database
  const stored = await mergeStoredSettings({ file, database, secret, now: Date.now, log })
  let current = await prepare(stored.start, db, log)
  const clock = (): number => performance.now()
  const upstreams = createUpstreams(current.providers)
  const health = createHealth({ clock, now: Date.now, random: Math.random, settings: () => current.routing })
  health.use(current.providers)
  stored.follow(async (next) => {
    const prepared = await prepare(next, db, log)
    upstreams.replace(prepared.providers)
    health.use(prepared.providers)
    current = prepared
  })
  setInterval(() => warnOfPriceEnds(current.book, log), PRICE_WARNING_EVERY_MS).unref()
  return {
    ids: createIdSource(Date.now, randomBytes),
    now: Date.now,
    clock,
    upstreams,
    health,
    models: () => current.book,
    modelsOf: (plan) => current.planBooks.get(plan) ?? current.book,
    config: () => current.config,
    termsOf: (plan) => current.terms.get(plan) ?? TERMS_OF_NO_PLAN,
    stored,
    reload: stored.reload,
    close: () => upstreams.close().finally(stored.close),
  }
}

interface Prepared {
  readonly config: Config
  readonly providers: readonly ConfiguredProvider[]
  readonly book: ModelBook
  /** Of each plan, at its prices. */
  readonly planBooks: ReadonlyMap<string, ModelBook>
  readonly terms: ReadonlyMap<string, PlanTerms>
  readonly routing: RoutingSettings
}

/**
 * Returns the parts that a configuration determines, with its prices recorded. Rejects if the configuration is
 * inconsistent.
 */
async function prepare({ config, catalogue }: Merged, db: Kysely<Database>, log: Log): Promise<Prepared> {
  const providers = configuredProviders(config, log)
  const { models, virtual_models: virtualModels } = config
  const names = new Set(providers.map(({ name }) => name))
  const weights = new Map(Object.entries(config.providers).map(([name, { weight = 1 }]) => [name, weight]))
  const book = buildModelBook({ catalogue, models, virtualModels, providers: names, weights, now: Date.now })
  const terms = termsOfPlans(config)
  const planBooks = new Map(Object.entries(config.plans).map(([name, plan]) => [name, planBook(book, markupOf(plan))]))
  const books = new Set([book, ...planBooks.values()])
  await recordPriceVersions(
    db,
    [...books].flatMap(({ all }) => all),
    Date.now(),
  )
  await recordPlanAllowances(db, terms, Date.now())
  warnOfProtocols(config, providers, log)
  warnOfPriceEnds(book, log)
  return { config, providers, book, planBooks, terms, routing: routingSettings(config) }
}

const PRICE_WARNING_EVERY_MS = 86_400_000

/** Models without a price respond 503: warns the operator a week before, once a day. */
function warnOfPriceEnds(book: ModelBook, log: Log): void {
  for (const end of endingPrices(book.all, Date.now())) {
    const { model, endsAt, hasEnded } = end
    const message = hasEnded ? 'the price of a model has ended' : 'the price of a model ends without a successor'
    log.warn({ model, ends: new Date(endsAt).toISOString() }, message)
  }
}

function routingSettings({ routing }: Config): RoutingSettings {
  const { failures, open_ms: openMs } = routing.breaker
  return {
    retryBudget: routing.retry_budget,
    breaker: { failures, openMs },
    fallbackOn: routing.fallback_on,
    policies: policiesIn(routing.policies),
  }
}

/** Undefined if there are no policies, so that requests pay nothing for them. */
function policiesIn(policies: Config['routing']['policies']): RoutingSettings['policies'] {
  if (policies.length === 0) return undefined
  return policies.map(({ data_collection: dataCollection, ...policy }) => ({ ...policy, dataCollection }))
}

const TERMS_OF_NO_PLAN = planTerms(undefined)

function termsOfPlans({ plans }: Config): ReadonlyMap<string, PlanTerms> {
  return new Map(Object.entries(plans).map(([name, plan]) => [name, planTerms(plan)]))
}

/** Omits providers with errors and logs a warning, so that the others serve. */
function configuredProviders(config: Config, log: Log): readonly ConfiguredProvider[] {
  const providers: ConfiguredProvider[] = []
  for (const [name, settings] of Object.entries<ProviderConfig>({ simulator: SIMULATOR, ...config.providers })) {
    if (settings.disabled === true) continue
    try {
      providers.push(resolveProvider(name, settings))
    } catch (error) {
      log.warn({ provider: name, reason: error instanceof Error ? error.message : String(error) }, 'provider omitted')
    }
  }
  return providers
}

/** Warns of deployments whose protocol their provider does not have; they use its usual one. */
function warnOfProtocols({ models }: Config, providers: readonly ConfiguredProvider[], log: Log): void {
  const known = new Map(providers.map(({ name, provider }) => [name, provider]))
  for (const { id: model, deployments = [] } of models) {
    for (const { provider, protocol } of deployments) {
      const host = known.get(provider)
      if (protocol === undefined || host === undefined || host.protocols?.[protocol] !== undefined) continue
      if (host.protocol.id === protocol) continue
      log.warn({ model, provider, protocol }, 'protocol of a deployment ignored: its provider does not have it')
    }
  }
}

/** Always configured, so that the first request needs no provider account. */
const SIMULATOR = {
  protocol: 'simulator',
  timeout_ms: { connect: 5_000, idle: 120_000, total: 1_800_000 },
  on_disconnect: 'cancel',
} as const
