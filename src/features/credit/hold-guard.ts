/**
 * Ends requests whose holds others may have swept: credit that was given back to the account must not be served from. What
 * they came to until then is settled, and corrects what the sweep charged.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { Hold } from '../../domain/credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { LeaseGuard } from './instance-lease.ts'

/** Requests under way, by their holds. */
export interface HeldRequests {
  /** Of those that are not settled. */
  readonly holds: () => readonly Hold[]
  /** Ends those whose hold it says is lost: streams with an error event, others with an error. */
  readonly interruptHeld: (reason: GatewayError, isLost: (hold: Hold) => boolean) => void
}

export interface HoldGuardInput {
  readonly db: Kysely<Database>
  /** Of this process. */
  readonly instanceId: string
  /** Undefined: it has not begun to serve. */
  readonly requests: () => HeldRequests | undefined
  readonly log: { warn(fields: object, message: string): void }
}

export function createHoldGuard({ db, instanceId, requests, log }: HoldGuardInput): LeaseGuard {
  const end = (lost: readonly Hold[], why: string) => {
    if (lost.length === 0) return
    log.warn({ requests: lost.length }, why)
    const ids = new Set(lost.map(({ id }) => id))
    requests()?.interruptHeld(holdLost(), ({ id }) => ids.has(id))
  }
  const recorded = () => (requests()?.holds() ?? []).filter(({ unrecorded }) => !unrecorded)
  return {
    lapsed() {
      end(recorded(), 'the lease of this process has lapsed: requests under way were ended')
    },
    async regained() {
      const before = recorded() // those that come now are made under the renewed lease
      if (before.length === 0) return
      const rows = await db.selectFrom('hold').select('id').where('instance_id', '=', instanceId).execute()
      const open = new Set(rows.map(({ id }) => id))
      end(
        before.filter(({ id }) => !open.has(id)),
        'holds were swept while this process was away: their requests were ended',
      )
    },
  }
}

function holdLost(): GatewayError {
  return new GatewayError(
    'database_unavailable',
    'The gateway was cut off from its database for too long to go on with this answer.',
    { retryAfterMs: 1_000 },
  )
}
