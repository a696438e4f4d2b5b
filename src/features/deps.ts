import type { FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema.ts'
import type { Caller } from '../domain/caller.ts'
import type { IdSource } from '../domain/ids.ts'

/** What every feature's routes are given. */
export interface FeatureDeps {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly ids: IdSource
  /** The authenticated caller; routes never run without one. */
  readonly callerOf: (request: FastifyRequest) => Caller
}
