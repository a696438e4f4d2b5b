/** Dependencies of the authorization server: clients, the database's clock, and the origin of requests. */
import type { Kysely, RawBuilder } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import type { IdSource } from '../../domain/ids.ts'
import { databaseNow } from '../../jobs/sql.ts'
import type { WriteAudit } from '../deps.ts'

export interface Authority {
  readonly db: Kysely<Database>
  readonly ids: IdSource
  readonly clients: OAuthClients
  readonly writeAudit: WriteAudit
  /** `DATABASE_TIME`, where no test has its own. */
  readonly time: DatabaseTime
  /** The key from which successors of refresh tokens are computed: `deriveKey(secret, 'oauth rotation')`. */
  readonly rotationKey: Uint8Array
  /** Called after every change of devices and waited for: when it is done, this process acts on the change. */
  readonly changed: () => void | Promise<void>
}

/** Where a request of a device comes from. */
export interface DeviceOrigin {
  readonly address: string
  readonly userAgent: string | undefined
  readonly requestId: string
}

const MAX_USER_AGENT_LENGTH = 200

/** Bounds a user agent and removes its control characters, for lists that people read. */
export function shownUserAgent(header: string | undefined): string | undefined {
  const text = header
    ?.replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ')
    .trim()
    .slice(0, MAX_USER_AGENT_LENGTH)
  return text === '' ? undefined : text
}

/** A program that may request tokens. All are public: anybody can read their ids, so an id proves nothing. */
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
  /** The id itself where the client is no longer configured. */
  nameOf(id: string): string
}

/** @param configured In addition to the built-in ones; one of the same id replaces it. */
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
