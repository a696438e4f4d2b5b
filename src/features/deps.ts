import type { FastifyRequest } from 'fastify'
import type { Kysely, Transaction } from 'kysely'
import type { Database } from '../db/schema/schema.ts'
import type { AuditEvent } from '../domain/audit.ts'
import type { BudgetStatus, BudgetSubject, BudgetTerms, OwnedSubject } from '../domain/budget.ts'
import type { IdempotentRequest, SavedAnswer } from '../domain/credit.ts'
import type { Caller } from '../domain/identity/caller.ts'
import type { AccountId, EventId, IdSource, UserId, WebhookId } from '../domain/ids.ts'
import type { DataOfEvents, WebhookEventType } from '../domain/webhook-event.ts'
import type { AuditedRequest } from '../http/request-origin.ts'

/** What every feature's routes are given. */
export interface FeatureDeps {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly ids: IdSource
  /** The authenticated caller; routes never run without one. */
  readonly callerOf: (request: FastifyRequest) => Caller
}

/** What routes of lists are given. */
export interface ListDeps extends FeatureDeps {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
}

/** Writes a row of the audit log, in the transaction of the change. Implemented by `features/audit`. */
export type WriteAudit = (db: Kysely<Database>, event: AuditEvent) => Promise<void>

/**
 * Deletes what was captured of a person's requests, and writes that to the audit log, in the transaction that removes them.
 * Implemented by `features/usage/content`.
 */
export type EraseContent = (
  inside: Kysely<Database>,
  of: { readonly audited: AuditedRequest; readonly userId: UserId },
) => Promise<void>

export interface NewEvent<Type extends WebhookEventType = WebhookEventType> {
  readonly accountId: AccountId
  readonly type: Type
  readonly data: DataOfEvents[Type]
  /** When it happened, Unix milliseconds; now unless set. */
  readonly createdAt?: number | undefined
  /** The only endpoint that receives it. Undefined: all that subscribe to its type. */
  readonly only?: WebhookId | undefined
}

/**
 * Writes an event with its deliveries, in the transaction of the change that it reports.
 * Implemented by `features/webhooks`.
 */
export type RecordEvent = <Type extends WebhookEventType>(
  db: Kysely<Database>,
  event: NewEvent<Type>,
) => Promise<EventId>

export interface OnceAnswer {
  readonly answer: SavedAnswer
  /** It was returned before, to the first request with the key. */
  readonly isReplay: boolean
}

/**
 * Does `work` in a transaction, and only once for each idempotency key: what it answers is kept in the same transaction,
 * so that a crash leaves both or neither. A repeat waits for the first and gets its answer; work that throws frees the
 * key. Rejects with 409 when the key was used for another body. Without a key it just does the work.
 * Implemented by `features/idempotency`.
 */
export type OnceInTransaction = (
  ask: Pick<IdempotentRequest, 'accountId' | 'endpoint' | 'body' | 'subjectId'> & { readonly key: string | undefined },
  work: (inside: Transaction<Database>) => Promise<SavedAnswer>,
) => Promise<OnceAnswer>

/** Budgets of subjects. Implemented by `features/credit/budgets`. */
export interface BudgetPort {
  /**
   * Makes `budgets` those of a subject, in the transaction of its change, and writes the audit log. A budget with the same
   * window, time zone and start stays the same, with what is spent; thresholds that this has reached already raise alerts.
   * In force for the next hold when the transaction commits.
   */
  replace(
    inside: Kysely<Database>,
    change: {
      readonly subject: OwnedSubject
      readonly budgets: readonly BudgetTerms[]
      readonly audited: AuditedRequest
    },
  ): Promise<void>
  /** Raises the alerts of all budgets of an account whose spending has reached a threshold that was set afterwards. */
  alertAll(inside: Kysely<Database>, accountId: AccountId): Promise<void>
  /** The current budgets of subjects of one account, by `subjectName`; subjects without any are absent. */
  read(accountId: AccountId, subjects: readonly BudgetSubject[]): Promise<ReadonlyMap<string, readonly BudgetStatus[]>>
}
