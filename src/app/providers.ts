/**
 * What operators see of providers: which can be configured, the source of each, and a watch of the calls to them. Also
 * composes the credentials that accounts have of providers.
 */

import type { FastifyInstance } from 'fastify'
import type { CatalogueEntry } from '../../catalogue/entry.ts'
import type { Config } from '../config/schema.ts'
import { deriveKeys } from '../config/secret.ts'
import type { OpenedDatabase } from '../db/database.ts'
import { createSealer } from '../db/sealed.ts'
import type { AccountCredentialsPort } from '../domain/account-credential.ts'
import type { FeatureDeps, WriteAudit } from '../features/deps.ts'
import { providerCredentialsRoutes } from '../features/provider-credentials/routes.ts'
import {
  createAccountCredentials,
  resealJobs,
  watchCredentialStatuses,
} from '../features/provider-credentials/store.ts'
import {
  currentProblem,
  isRefused,
  type RecentCalls,
  recentCalls,
  startProviderHealthRecorder,
  startRefusalAlerts,
} from '../features/providers/recent-calls.ts'
import type { ProviderKind, ProviderSource } from '../features/providers/routes.ts'
import type { StoredSettingsPort } from '../features/stored-settings/routes.ts'
import { startPerformanceRecorder } from '../features/usage/performance.ts'
import { probeProvider } from '../gateway/upstream/probe.ts'
import type { JobKind } from '../jobs/job.ts'
import { PROVIDERS, resolveProvider } from '../providers/index.ts'
import { noCredential } from '../providers/provider.ts'
import type { Log } from '../telemetry/log.ts'
import type { Money } from './money.ts'
import type { Runtime } from './runtime.ts'
import type { Webhooks } from './webhooks.ts'

/** Returns the providers that are reached over HTTP. */
export function providerKinds(catalogue: readonly CatalogueEntry[]): readonly ProviderKind[] {
  const models = new Map<string, number>()
  for (const { deployments } of catalogue) {
    for (const name of new Set(deployments.map(({ provider }) => provider))) {
      models.set(name, (models.get(name) ?? 0) + 1)
    }
  }
  return Object.values(PROVIDERS)
    .filter(({ transport }) => transport === undefined)
    .map(({ id, name, baseUrl, apiKeyVariable: keyVariable, settings = [] }) => ({
      ...{ id, name, baseUrl, keyVariable, settings },
      models: models.get(id) ?? 0,
    }))
}

export function disabledProviders({ providers }: Pick<Config, 'providers'>) {
  return Object.entries(providers)
    .filter(([, { disabled }]) => disabled === true)
    .map(([name, { kind = name, base_url: address }]) => ({ name, baseUrl: address ?? PROVIDERS[kind]?.baseUrl ?? '' }))
}

export function sourceOf(
  name: string,
  { config, stored }: { readonly config: Config; readonly stored: Pick<StoredSettingsPort, 'isInFile'> },
): ProviderSource {
  if (stored.isInFile('provider', name)) return 'configuration'
  return Object.hasOwn(config.providers, name) ? 'database' : 'built_in'
}

/** The providers as the banner lists them. */
export interface ProviderSummary {
  readonly found: readonly string[]
  /** Providers with an invalid setting, and those that refused the last call: the key is invalid or the quota exhausted. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[]
}

export function summarizeProviders(
  { providers }: Pick<Config, 'providers'>,
  recent: ReadonlyMap<string, RecentCalls>,
): ProviderSummary {
  const reasons = Object.entries(providers)
    .filter(([, { disabled }]) => disabled !== true)
    .map(([name, settings]) => ({ name, reason: problemOf(name, settings, recent.get(name)) }))
  return {
    found: reasons.filter(({ reason }) => reason === undefined).map(({ name }) => name),
    refused: reasons.flatMap(({ name, reason }) => (reason === undefined ? [] : [{ name, reason }])),
  }
}

function problemOf(name: string, settings: Config['providers'][string], recent: RecentCalls | undefined) {
  try {
    resolveProvider(name, settings)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return recent !== undefined && isRefused(recent) ? currentProblem(recent) : undefined
}

// Watches the calls to providers: alerts of refusals, the health over the last 24 hours, and how fast they answer.

export interface ProviderWatch {
  /** Reads the calls of all processes over the last 24 hours, by provider. */
  readonly recentCalls: () => Promise<ReadonlyMap<string, RecentCalls>>
  readonly close: () => Promise<void>
}

interface Parts {
  readonly runtime: Runtime
  readonly money: Pick<Money, 'wake'>
  readonly webhooks: Pick<Webhooks, 'recordEvent'>
}

export function createProviderWatch(
  { database: { db }, log }: { readonly database: OpenedDatabase; readonly log: Log },
  { runtime: { upstreams, now }, money: { wake }, webhooks: { recordEvent } }: Parts,
): ProviderWatch {
  const isScripted = (name: string): boolean => upstreams.find(name)?.provider.scripted === true
  const alerts = startRefusalAlerts({ db, now, recordEvent, isScripted, wake, log })
  const recorder = startProviderHealthRecorder({ db, now, isScripted, log })
  const performance = startPerformanceRecorder({ db, log })
  return {
    async recentCalls() {
      await recorder.write()
      return await recentCalls(db, now())
    },
    close: async () => void (await Promise.all([alerts.close(), recorder.close(), performance.close()])),
  }
}

/* Credentials of accounts: their API, their use by the data plane, and the background work on them. */

interface ProviderCredentialsInput {
  readonly runtime: Runtime
  readonly database: Pick<OpenedDatabase, 'db'>
  readonly config: Config
  readonly log: Log
  /** The secret of the installation. */
  readonly secret: Uint8Array
}

interface ApiDeps extends FeatureDeps {
  readonly cursorKey: Uint8Array
  readonly writeAudit: WriteAudit
  readonly changed: () => Promise<void>
}

export interface ProviderCredentials {
  readonly port: AccountCredentialsPort
  /** Background jobs by kind. */
  readonly jobs: Readonly<Record<string, JobKind>>
  /** Adds the routes below `/v1`. */
  addApiRoutes(app: FastifyInstance, deps: ApiDeps): Promise<void>
  close(): Promise<void>
}

export function createProviderCredentials(input: ProviderCredentialsInput): ProviderCredentials {
  const { runtime, database, config, log } = input
  const { db } = database
  const sealer = createSealer(deriveKeys(input, 'provider credentials'))
  const statuses = watchCredentialStatuses({ db, now: runtime.now, log })
  return {
    port: {
      ...createAccountCredentials({ db, sealer, log }),
      feePpm: (plan) => Math.round((runtime.config().plans[plan]?.byok_fee_percent ?? 0) * PPM_PER_PERCENT),
    },
    jobs: config.secret_previous === undefined ? {} : resealJobs({ db, sealer }),
    async addApiRoutes(app, deps) {
      const keyed = (name: string) => {
        const upstream = runtime.upstreams.find(name)
        return upstream?.provider.authorize === noCredential ? undefined : upstream
      }
      const probe = (name: string, apiKey: string, waitMs: number) => {
        const upstream = keyed(name)
        return upstream && probeProvider({ ...upstream, credentials: [apiKey] }, waitMs)
      }
      const providers = () => [...runtime.upstreams.names].filter((name) => keyed(name) !== undefined)
      await app.register(providerCredentialsRoutes({ ...deps, sealer, probe, providers }))
    },
    close: statuses.close,
  }
}

const PPM_PER_PERCENT = 10_000
