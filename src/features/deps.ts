import type { FastifyRequest } from 'fastify'
import type { Kysely, Transaction } from 'kysely'
import type { Database } from '../db/schema.ts'
import type { AuditEvent } from '../domain/audit.ts'
import type { Caller } from '../domain/caller.ts'
import type { IdempotentAsk, KeptAnswer } from '../domain/credit.ts'
import type { AccountId, EventId, IdSource, WebhookId } from '../domain/ids.ts'
import type { DataOfEvents, WebhookEventType } from '../domain/webhook-event.ts'

/** What every feature's routes are given. */
export interface FeatureDeps {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly ids: IdSource
  /** The authenticated caller; routes never run without one. */
  readonly callerOf: (request: FastifyRequest) => Caller
}

/** Writes a row of the audit log, inside the transaction of what it tells about. Implemented by `features/audit`. */
export type WriteAudit = (db: Kysely<Database>, event: AuditEvent) => Promise<void>

export interface NewEvent<Type extends WebhookEventType = WebhookEventType> {
  readonly accountId: AccountId
  readonly type: Type
  readonly data: DataOfEvents[Type]
  /** When it happened, Unix milliseconds; now unless said. */
  readonly createdAt?: number | undefined
  /** The one endpoint that it is for, whatever types that asks for. Undefined: all that ask for its type. */
  readonly only?: WebhookId | undefined
}

/**
 * Writes an event with its deliveries, inside the transaction of what it tells about: they are there exactly if that is.
 * Implemented by `features/webhooks`.
 */
export type RecordEvent = <Type extends WebhookEventType>(
  db: Kysely<Database>,
  event: NewEvent<Type>,
) => Promise<EventId>

export interface OnceAnswer {
  readonly answer: KeptAnswer
  /** It was given before, to the first request with the key. */
  readonly isReplay: boolean
}

/**
 * Does `work` in a transaction, and only once for each idempotency key: what it answers is kept in the same transaction,
 * so that a crash leaves both or neither. A repeat waits for the first and gets its answer; work that throws frees the
 * key. Rejects with 409 when the key was used for another body. Without a key it just does the work.
 * Implemented by `features/idempotency`.
 */
export type OnceInTransaction = (
  ask: Pick<IdempotentAsk, 'accountId' | 'endpoint' | 'body' | 'subjectId'> & { readonly key: string | undefined },
  work: (inside: Transaction<Database>) => Promise<KeptAnswer>,
) => Promise<OnceAnswer>
