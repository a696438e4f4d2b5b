/** The audit of one account over HTTP: as far as it comes in a bounded time, and further with each request. */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import { GatewayError } from '../../../domain/errors.ts'
import type { AccountId } from '../../../domain/ids.ts'
import { knownAllowances } from './allowances.ts'
import { runAudit } from './run.ts'
import { createAudit, deleteOpenAudits, findAudit, type StoredAudit } from './store.ts'

/** How long one request audits. */
const DEEP_BUDGET_MS = 2_000
/** Of that time, what it works at most. */
const SHARE = 0.5

export interface DeepInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly accountId: AccountId
  /** Of a partial audit; undefined: a new one is begun, and what was left open of the account is dropped. */
  readonly cursor: string | undefined
  readonly budgetMs?: number | undefined
}

/** Rejects with 400 for a cursor that is not the account's, and with 409 where another request goes on with it. */
export async function auditAccount(input: DeepInput): Promise<StoredAudit> {
  const { db, now, budgetMs = DEEP_BUDGET_MS } = input
  const audit = await beginOrContinue(input)
  if (audit.endedAt !== undefined) return audit
  const allowances = await knownAllowances(db)
  const hasEnded = await runAudit({ db, now, allowances, budgetMs, share: SHARE }, audit)
  return hasEnded ? { ...audit, endedAt: now() } : audit
}

async function beginOrContinue({ db, now, accountId, cursor }: DeepInput): Promise<StoredAudit> {
  if (cursor === undefined) {
    const scope = { accountId, since: undefined }
    await deleteOpenAudits(db, scope)
    return createAudit(db, scope, now())
  }
  const audit = await findAudit(db, cursor)
  if (audit !== undefined && audit.scope.accountId === accountId) return audit
  throw new GatewayError('invalid_value', "'cursor' is not of an audit of this account that is kept.", {
    param: 'cursor',
  })
}
