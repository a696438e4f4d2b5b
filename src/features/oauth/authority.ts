/** What every part of the authorization server works with. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { IdSource } from '../../domain/ids.ts'
import type { WriteAudit } from '../deps.ts'
import type { OAuthClients } from './clients.ts'
import type { DatabaseTime } from './database-time.ts'

export interface Authority {
  readonly db: Kysely<Database>
  readonly ids: IdSource
  readonly clients: OAuthClients
  readonly writeAudit: WriteAudit
  /** `DATABASE_TIME`, where no test has its own. */
  readonly time: DatabaseTime
  /** From what the successors of refresh tokens are computed: `deriveKey(secret, 'oauth rotation')`. */
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

/** For lists that people look at: bounded, without control characters. */
export function shownUserAgent(header: string | undefined): string | undefined {
  const text = header
    ?.replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ')
    .trim()
    .slice(0, MAX_USER_AGENT_LENGTH)
  return text === '' ? undefined : text
}
