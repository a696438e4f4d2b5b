/** Composes provider credentials: their API, their use by the data plane, and the background work on them. */
import type { FastifyInstance } from 'fastify'
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
import { probeProvider } from '../gateway/upstream/probe.ts'
import type { JobKind } from '../jobs/job.ts'
import { noCredential } from '../providers/provider.ts'
import type { Log } from '../telemetry/log.ts'
import type { Runtime } from './runtime.ts'

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
