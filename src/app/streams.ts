/** Composes resumable streams: those of this process, and the relay to and from other processes. */
import { hostname, networkInterfaces } from 'node:os'
import type { FastifyInstance } from 'fastify'
import { deriveKey } from '../config/secret.ts'
import type { OpenedDatabase } from '../db/database.ts'
import type { InstanceId } from '../domain/ids.ts'
import { findAddress } from '../features/instances/routes.ts'
import { createResumableStreams, type ResumableStreams } from '../gateway/resumable/registry.ts'
import { relayRoute } from '../http/relay-route.ts'
import { LEASE_MS } from '../jobs/instance-lease.ts'
import { createRelayClient } from '../net/relay.ts'
import type { Log } from '../telemetry/log.ts'
import type { Runtime } from './runtime.ts'

export interface Streams {
  readonly kept: ResumableStreams
  /** Adds the route from which other processes relay streams. */
  addRoute(server: FastifyInstance): void
  close(): Promise<void>
}

interface StreamsInput {
  readonly runtime: Runtime
  readonly database: Pick<OpenedDatabase, 'db'>
  readonly instanceId: InstanceId
  /** The secret of the installation. */
  readonly secret: Uint8Array
  readonly log: Log
}

export function createStreams({ runtime, database, instanceId, secret, log }: StreamsInput): Streams {
  const token = deriveKey(secret, 'relay').toString('hex')
  const others = createRelayClient({
    token,
    addressOf: async (id) => (await findAddress(database.db, id, LEASE_MS)) ?? 'gone',
    log,
  })
  const kept = createResumableStreams({ graceMs: () => runtime.config().streams.grace_ms, relay: others.relay })
  return {
    kept,
    addRoute(server) {
      relayRoute(server, {
        token,
        instanceId,
        listen: ({ client, after, ...place }) =>
          kept.find(place)?.listen({ client, after, headers: (all) => ({ ...all }) }).done,
      })
    },
    close: others.close,
  }
}

interface Listening {
  readonly host: string
  readonly port: number
  readonly isTls: boolean
}

/**
 * Returns the address at which other processes reach this one; all share the public address. For a process that listens
 * on all interfaces it is an address of the machine, because other machines may not resolve the host name.
 */
export function addressOf({ host, port, isTls }: Listening): string {
  const isEverywhere = host === '0.0.0.0' || host === '::'
  const name = isEverywhere ? (outerAddress() ?? hostname()) : host
  return `http${isTls ? 's' : ''}://${name.includes(':') ? `[${name}]` : name}:${port}`
}

function outerAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
  const outer = all.filter(({ internal, scopeid }) => !internal && !scopeid) // a link-local address needs a zone
  return (outer.find(({ family }) => family === 'IPv4') ?? outer[0])?.address
}
