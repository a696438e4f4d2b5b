/** Composes telemetry destinations: their API, and the export of accounts' traces. */
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/schema.ts'
import { deriveKeys } from '../config/secret.ts'
import type { OpenedDatabase } from '../db/database.ts'
import { createSealer } from '../db/sealed.ts'
import type { ListDeps, WriteAudit } from '../features/deps.ts'
import { createDestinationExporter, type DestinationExporter } from '../features/telemetry-destinations/exporter.ts'
import { telemetryDestinationsRoutes } from '../features/telemetry-destinations/routes.ts'
import { createGuardedAgent } from '../net/guarded-agent.ts'
import type { Log } from '../telemetry/log.ts'

export interface DestinationsInput {
  readonly database: Pick<OpenedDatabase, 'db'>
  readonly config: Config
  readonly log: Log
  readonly version: string
  /** The secret of the installation. */
  readonly secret: Uint8Array
}

export interface TelemetryDestinations extends Pick<DestinationExporter, 'add' | 'counts'> {
  /** Adds the routes below `/v1`. */
  addApiRoutes(app: FastifyInstance, deps: ListDeps & { readonly writeAudit: WriteAudit }): Promise<void>
  close(): Promise<void>
}

/** @param onNeeded Called when the first destination is added and when the last one is removed. */
export function createTelemetryDestinations(
  input: DestinationsInput,
  onNeeded: (isNeeded: boolean) => Promise<void>,
): TelemetryDestinations {
  const { database, config, log, version } = input
  const { db } = database
  const { allow_private_networks: allowPrivateNetworks } = config.telemetry
  const sealer = createSealer(deriveKeys(input, 'telemetry destinations'))
  const agent = createGuardedAgent({ allowPrivateNetworks, connections: 2 })
  const exporter = createDestinationExporter({ db, sealer, version, agent, allowPrivateNetworks, log, onNeeded })
  exporter.refresh().catch((error: unknown) => log.warn({ err: error }, 'telemetry destinations could not be read'))
  return {
    add: exporter.add,
    counts: exporter.counts,
    async addApiRoutes(app, deps) {
      await app.register(telemetryDestinationsRoutes({ ...deps, sealer, exporter, allowPrivateNetworks }))
    },
    async close() {
      await exporter.close()
      await agent.destroy()
    },
  }
}
