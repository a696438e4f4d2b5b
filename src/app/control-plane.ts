/** The routes of the control plane: accounts, keys, credit, usage, and the operator's. */
import type { FastifyInstance } from 'fastify'
import { CATALOGUE } from '../../catalogue/index.ts'
import { explainConfig } from '../config/explain.ts'
import { type Config, ENTRY_SCHEMAS } from '../config/schema.ts'
import { deriveKey } from '../config/secret.ts'
import type { OpenedDatabase } from '../db/database.ts'
import type { ModelKind } from '../domain/model.ts'
import { accountRoutes, accountsAdminRoutes } from '../features/accounts/routes.ts'
import { budgetsRoutes } from '../features/credit/budgets/routes.ts'
import { createBudgets } from '../features/credit/budgets/store.ts'
import { creditAdminRoutes, ledgerRoutes } from '../features/credit/routes.ts'
import type { FeatureDeps, ListDeps } from '../features/deps.ts'
import { agentsStateRoute, instancesRoutes } from '../features/instances/routes.ts'
import { invoicesRoutes } from '../features/invoices/routes.ts'
import { keysRoutes } from '../features/keys/routes.ts'
import { priceEndsRoute } from '../features/models/routes.ts'
import { providerKindsRoute, providerProbeRoute, providersRoutes } from '../features/providers/routes.ts'
import { configRoutes, storedSettingsRoutes } from '../features/stored-settings/routes.ts'
import { completionStreamRoute } from '../features/usage/completion-stream.ts'
import { DEFAULT_UNLIMITED_CREDIT_USD, usageRoutes } from '../features/usage/routes.ts'
import { probeProvider } from '../gateway/upstream/probe.ts'
import { callerOf } from '../http/caller.ts'
import type { EventStreams } from '../http/event-stream.ts'
import { LEASE_MS } from '../jobs/instance-lease.ts'
import type { Log } from '../telemetry/log.ts'
import type { Agents } from './agents.ts'
import type { Role } from './background-work.ts'
import type { ContentCapture } from './content.ts'
import type { Guardrails } from './guardrails.ts'
import type { Identity } from './identity.ts'
import type { Money, Payments } from './money.ts'
import {
  disabledProviders,
  type ProviderCredentials,
  type ProviderWatch,
  providerKinds,
  sourceOf,
} from './providers.ts'
import type { Runtime } from './runtime.ts'
import type { Telemetry } from './telemetry.ts'
import type { Webhooks } from './webhooks.ts'

interface ControlPlaneInput {
  readonly config: Config
  readonly database: OpenedDatabase
  readonly log: Log
  readonly role?: Role
  /** The secret of the installation. */
  readonly secret: Uint8Array
}

export interface ControlPlaneParts {
  readonly runtime: Runtime
  readonly money: Money
  readonly identity: Identity
  readonly webhooks: Webhooks
  readonly agents: Agents
  /** The accounts' own credentials at providers. */
  readonly byok: ProviderCredentials
  readonly guardrails: Guardrails
  /** Prompts and answers that accounts have stored. */
  readonly content: ContentCapture
  readonly payments: Payments
  /** Publishes completions that have just ended. */
  readonly completionStreams: EventStreams
  readonly providers: ProviderWatch
  readonly telemetry: Telemetry
}

/** Adds the routes of the control plane below `/v1`. */
export async function addControlPlane(
  app: FastifyInstance,
  input: ControlPlaneInput,
  parts: ControlPlaneParts,
): Promise<void> {
  const { database, secret } = input
  const { runtime, money, identity, webhooks, agents, completionStreams: listeners } = parts
  const { instanceId, wake } = money
  const { writeAudit } = identity
  const { authenticate, refresh: changed } = identity.authentication
  const deps: FeatureDeps = { db: database.db, now: runtime.now, ids: runtime.ids, callerOf }
  const cursorKey = deriveKey(secret, 'cursors')
  const budgets = createBudgets({ ...deps, writeAudit })
  const plans = () => ({ all: runtime.config().plans, standard: runtime.config().accounts.default_plan })
  await app.register(
    keysRoutes({ ...deps, budgets, cursorKey, changed, writeAudit, maxKeys: () => runtime.config().accounts.max_keys }),
  )
  const unlimitedCreditUsd = (name: string) => {
    const plan = runtime.config().plans[name]
    return plan?.unlimited_credit_usd ?? plan?.monthly_credit_usd ?? DEFAULT_UNLIMITED_CREDIT_USD
  }
  const kindOf = (model: string): ModelKind => runtime.models().find(model)?.kind ?? 'chat'
  await app.register(usageRoutes({ ...deps, cursorKey, credit: money.creditService, unlimitedCreditUsd, kindOf }))
  await app.register(completionStreamRoute({ ...deps, authenticate, listeners, log: input.log }))
  await app.register(ledgerRoutes({ ...deps, cursorKey }))
  await app.register(budgetsRoutes({ ...deps, budgets, cursorKey, writeAudit }))
  await app.register(invoicesRoutes({ ...deps, cursorKey }))
  await app.register(accountRoutes({ ...deps, budgets, credit: money.creditService, plans, changed, writeAudit }))
  await app.register(
    accountsAdminRoutes({ ...deps, budgets, cursorKey, plans, credit: money.creditService, changed, writeAudit }),
  )
  await app.register(creditAdminRoutes({ ...deps, credit: money.creditService, writeAudit }))
  await parts.telemetry.addApiRoutes(app, { ...deps, cursorKey, writeAudit })
  await parts.byok.addApiRoutes(app, { ...deps, cursorKey, writeAudit, changed })
  await parts.guardrails.addApiRoutes(app, { ...deps, cursorKey, writeAudit, changed })
  await parts.content.addApiRoutes(app, { ...deps, cursorKey, writeAudit, changed })
  await parts.payments.addApiRoutes(app, { ...deps, cursorKey, writeAudit })
  await addOperatorRoutes(app, { ...deps, cursorKey }, { input, parts })
  await identity.addApiRoutes(app, { ...deps, budgets, cursorKey })
  const { inTeam } = identity
  await agents.addApiRoutes(app, { ...deps, cursorKey, inTeam, writeAudit, authenticate, instanceId, wake })
  await webhooks.addApiRoutes(app, { ...deps, cursorKey, writeAudit, authenticate, wake })
}

async function addOperatorRoutes(
  app: FastifyInstance,
  deps: ListDeps,
  { input, parts }: { readonly input: ControlPlaneInput; readonly parts: ControlPlaneParts },
): Promise<void> {
  const { runtime, identity, agents } = parts
  const { writeAudit } = identity
  const { recentCalls } = parts.providers
  const { stored } = runtime
  const disabled = () => disabledProviders(runtime.config())
  const source = (name: string) => sourceOf(name, { config: runtime.config(), stored })
  await app.register(
    providersRoutes({ ...deps, status: runtime.health.status, recentCalls, disabled, sourceOf: source }),
  )
  await app.register(providerKindsRoute({ ...deps, kinds: () => providerKinds(CATALOGUE) }))
  await app.register(priceEndsRoute({ ...deps, models: runtime.models, now: runtime.now }))
  const probe = (name: string, waitMs: number) => {
    const target = runtime.upstreams.find(name)
    return target && probeProvider(target, waitMs)
  }
  await app.register(providerProbeRoute({ ...deps, probe, clock: runtime.clock, writeAudit }))
  const settings = () => ({ file: runtime.config().file, settings: explainConfig(runtime.config()) })
  await app.register(configRoutes({ settings }))
  await app.register(storedSettingsRoutes({ ...deps, ...stored, writeAudit, schemas: ENTRY_SCHEMAS }))
  await app.register(instancesRoutes({ ...deps, goneAfterMs: LEASE_MS }))
  const availability = input.role === 'api' ? undefined : agents.availability
  const { backend } = input.config.agents.sandbox
  await app.register(agentsStateRoute({ backend, availability, active: agents.active }))
}
