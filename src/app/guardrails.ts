/** Composes guardrails: their API, and their use by the data plane. */
import type { FastifyInstance } from 'fastify'
import type { Agent } from 'undici'
import { deriveKey } from '../config/secret.ts'
import type { OpenedDatabase } from '../db/database.ts'
import type { GuardrailsPort } from '../domain/guardrails/guard.ts'
import type { ListDeps, WriteAudit } from '../features/deps.ts'
import { createActiveGuardrails, createHookCaller, hookSecret } from '../features/guardrails/active.ts'
import { guardrailsRoutes } from '../features/guardrails/routes.ts'
import { createGuardedAgent } from '../net/guarded-agent.ts'
import type { Log } from '../telemetry/log.ts'
import type { Runtime } from './runtime.ts'

interface GuardrailsInput {
  readonly runtime: Runtime
  readonly database: Pick<OpenedDatabase, 'db'>
  readonly log: Log
  /** The secret of the installation. */
  readonly secret: Uint8Array
}

interface ApiDeps extends ListDeps {
  readonly writeAudit: WriteAudit
  readonly changed: () => Promise<void>
}

export interface Guardrails {
  readonly port: GuardrailsPort
  /** Adds the routes below `/v1`. */
  addApiRoutes(app: FastifyInstance, deps: ApiDeps): Promise<void>
  close(): Promise<void>
}

export function createGuardrails({ runtime, database, log, secret }: GuardrailsInput): Guardrails {
  const key = deriveKey(secret, 'guardrail hooks')
  const { now } = runtime
  const agents = new Map<boolean, Agent>()
  const allowPrivateNetworks = (): boolean => {
    const { guardrails, webhooks } = runtime.config()
    return guardrails.allow_private_networks ?? webhooks.allow_private_networks
  }
  /** Each rule has its own connections. */
  const agent = (): Agent => {
    const rule = allowPrivateNetworks()
    const known =
      agents.get(rule) ?? createGuardedAgent({ allowPrivateNetworks: rule, connectTimeoutMs: CONNECT_TIMEOUT_MS })
    agents.set(rule, known)
    return known
  }
  const hookOf = createHookCaller({ agent, allowPrivateNetworks, key, now, log })
  return {
    port: createActiveGuardrails({ db: database.db, hookOf }),
    async addApiRoutes(app, deps) {
      const secretOf = (account: Parameters<typeof hookOf>[0]) => hookSecret(key, account)
      await app.register(guardrailsRoutes({ ...deps, allowPrivateNetworks, secretOf }))
    },
    close: async () => void (await Promise.all([...agents.values()].map((each) => each.close()))),
  }
}

const CONNECT_TIMEOUT_MS = 10_000
