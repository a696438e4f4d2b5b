/** Dependencies of the authorization server: clients, the database's clock, and the origin of requests. */
import type { FastifyRequest } from 'fastify'
import type { Kysely, RawBuilder } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import type { Origin } from '../../domain/identity/sign-in.ts'
import { databaseNow } from '../../jobs/sql.ts'
import type { FeatureDeps, WriteAudit } from '../deps.ts'

export interface Authority extends Pick<FeatureDeps, 'db' | 'ids'> {
  readonly clients: OAuthClients
  readonly writeAudit: WriteAudit
  /** `DATABASE_TIME` except in tests. */
  readonly time: DatabaseTime
  /** The key from which successors of refresh tokens are computed: `deriveKey(secret, 'oauth rotation')`. */
  readonly rotationKey: Uint8Array
  /** Awaited after every change of devices: when it resolves, the change is in force in this process. */
  readonly changed: () => void | Promise<void>
}

const MAX_USER_AGENT_LENGTH = 200

/** Bounds a user agent and removes its control characters, for lists that people read. */
function shownUserAgent(header: string | undefined): string | undefined {
  const text = header
    ?.replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ')
    .trim()
    .slice(0, MAX_USER_AGENT_LENGTH)
  return text === '' ? undefined : text
}

/** Returns the origin of a request of a device. */
export function originOf(request: FastifyRequest): Origin {
  const userAgent = shownUserAgent(request.headers['user-agent'])
  return { address: request.ip, userAgent, requestId: request.id }
}

/** A program that can request tokens. All clients are public: an ID proves nothing. */
export interface OAuthClient {
  readonly id: string
  /** Shown to the person who approves. */
  readonly name: string
}

const BUILT_IN: readonly OAuthClient[] = [
  { id: 'turnpike-cli', name: 'Turnpike command line' },
  { id: 'turnpike-ide', name: 'Turnpike for IDEs' },
]

interface OAuthClients {
  find(id: string): OAuthClient | undefined
  /** Returns the ID of a client that is no longer configured. */
  nameOf(id: string): string
}

/** @param configured Clients in addition to the built-in ones; a client with the same ID replaces the built-in one. */
export function createClients(configured: readonly OAuthClient[]): OAuthClients {
  const clients = new Map([...BUILT_IN, ...configured].map((client) => [client.id, client]))
  return { find: (id) => clients.get(id), nameOf: (id) => clients.get(id)?.name ?? id }
}

/** Unix milliseconds by the clock that all processes share, as part of a statement. */
export type DatabaseTime = () => RawBuilder<number>

export const DATABASE_TIME: DatabaseTime = databaseNow

export async function readTime(db: Kysely<Database>, time: DatabaseTime): Promise<number> {
  const row = await db.selectNoFrom(time().as('now')).executeTakeFirstOrThrow()
  return row.now
}
