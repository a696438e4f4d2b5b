/** Composes content capture: its settings, its port for the data plane, and the routes and jobs of stored content. */
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/schema.ts'
import { deriveKeys, type RotatedSecret } from '../config/secret.ts'
import type { OpenedDatabase } from '../db/database.ts'
import { createSealer } from '../db/sealed.ts'
import type { CapturePort } from '../domain/completion.ts'
import type { ListDeps, WriteAudit } from '../features/deps.ts'
import { contentJobs, erasureJobs } from '../features/usage/content/deletion.ts'
import { createContentRecorder } from '../features/usage/content/recorder.ts'
import { captureSettingsRoutes, contentRoutes } from '../features/usage/content/routes.ts'
import { sealerNamed } from '../features/usage/content/store.ts'
import type { JobKind } from '../jobs/job.ts'
import { clientApiOf } from '../protocols/client-apis.ts'
import type { Log } from '../telemetry/log.ts'
import type { ExportCounts } from '../telemetry/metrics.ts'
import type { Runtime } from './runtime.ts'

interface ContentInput {
  readonly runtime: Pick<Runtime, 'now'>
  readonly config: Pick<Config, 'content_capture' | 'secret_previous'>
  readonly database: Pick<OpenedDatabase, 'db' | 'batch'>
  readonly log: Log
  /** The secret of the installation. */
  readonly secret: Uint8Array
}

export interface ContentCapture {
  /** Undefined if the operator does not allow content capture. */
  readonly port: CapturePort | undefined
  readonly jobs: Readonly<Record<string, JobKind>>
  readonly counts: () => readonly ExportCounts[]
  /** Adds the routes below `/v1`. */
  addApiRoutes(
    app: FastifyInstance,
    deps: ListDeps & { readonly writeAudit: WriteAudit; readonly changed: () => Promise<void> },
  ): Promise<void>
  close(): Promise<void>
}

export function createContentCapture(input: ContentInput): ContentCapture {
  const { config, database, runtime, log } = input
  const { now } = runtime
  const limits = config.content_capture
  const { allow, retention_days: retentionDays, max_bytes: maxBytes, max_account_bytes: maxAccountBytes } = limits
  const sealer = contentSealer(input)
  const recorder = allow
    ? createContentRecorder({ ...database, sealer, maxBytes, maxAccountBytes, now, log })
    : undefined
  const isResealing = config.secret_previous !== undefined
  return {
    port: recorder?.port,
    jobs: {
      ...contentJobs({ db: database.db, sealer, isResealing, retentionDays, now }),
      ...erasureJobs(database.db),
    },
    counts: () => (recorder === undefined ? [] : [recorder.counts()]),
    async addApiRoutes(app, deps) {
      await app.register(captureSettingsRoutes({ ...deps, limits }))
      await app.register(contentRoutes({ ...deps, sealer, conversationOf }))
    },
    close: async () => recorder?.close(),
  }
}

export function contentSealer(input: RotatedSecret) {
  const keys = deriveKeys(input, 'captured content')
  return sealerNamed(createSealer(keys), keys.current)
}

/** Undefined if this release rejects the body, which an earlier release may have accepted. */
export function conversationOf(endpoint: string, body: unknown) {
  try {
    return clientApiOf(endpoint)?.parse(body)
  } catch {
    return undefined
  }
}
