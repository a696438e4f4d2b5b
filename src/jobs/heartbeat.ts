/** Keeps the leases of what runs, and tells those that have lost theirs. */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema.ts'
import { renew } from './queue.ts'
import type { Start } from './start.ts'

const HEARTBEATS_PER_LEASE = 4

export interface HeartbeatInput {
  readonly db: Kysely<Database>
  readonly owner: string
  readonly leaseMs: number
  /** By the ids of their jobs. */
  readonly starts: ReadonlyMap<string, Start>
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

export interface Heartbeat {
  start(): void
  stop(): void
}

export function createHeartbeat({ db, owner, leaseMs, starts, clock }: HeartbeatInput): Heartbeat {
  let timer: NodeJS.Timeout | undefined
  let beating = false
  const renewAll = async (): Promise<void> => {
    const all = [...starts.values()]
    const at = clock()
    const mine = new Set(await renew(db, { jobs: all.map(({ job }) => job), owner, leaseMs }))
    for (const start of all) {
      if (mine.has(start.job.id)) start.renewed(at)
      else if (starts.get(start.job.id) === start) start.interrupt('lost')
    }
  }
  const beat = () => {
    for (const start of starts.values()) if (start.leaseIsOver()) start.interrupt('lost')
    if (beating || starts.size === 0) return
    beating = true
    renewAll()
      .catch(() => undefined) // the lease runs on; what ends it is told above
      .finally(() => {
        beating = false
      })
  }
  return {
    start() {
      timer ??= setInterval(beat, leaseMs / HEARTBEATS_PER_LEASE)
    },
    stop: () => clearInterval(timer),
  }
}
