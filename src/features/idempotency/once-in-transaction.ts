/**
 * Idempotency of work in a single transaction: the key's row is written in it, so it needs no lease, and a crash leaves
 * nothing to settle.
 */
import { CompiledQuery, type Kysely, type Transaction } from 'kysely'
import type { BatchStatement } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { SavedAnswer } from '../../domain/credit.ts'
import { fingerprintOf } from '../../domain/json-body.ts'
import type { OnceInTransaction } from '../deps.ts'
import { keyReused, resultTooLarge, stillRunning } from './refusals.ts'
import { type Claim, claimStatement, endStatement, findKey } from './rows.ts'

export interface OnceInput {
  readonly db: Kysely<Database>
  /** Of this process. */
  readonly instanceId: string
}

export function onceInTransaction({ db, instanceId }: OnceInput): OnceInTransaction {
  return ({ key, ...request }, work) =>
    db.transaction().execute(async (inside) => {
      if (key === undefined) return { answer: await work(inside), isReplay: false }
      const claim: Claim = { ...request, key, fingerprint: fingerprintOf(request) }
      // A concurrent request waits here for the end of the first one's transaction.
      const answer = await takeKey(inside, claim, instanceId)
      if (answer !== undefined) return { answer, isReplay: true }
      const given = await work(inside)
      await run(inside, endStatement(inside, claim, { state: 'kept', answer: given }))
      return { answer: given, isReplay: false }
    })
}

/** @returns The earlier answer; undefined: the claim owns the key. */
async function takeKey(
  inside: Transaction<Database>,
  claim: Claim,
  instanceId: string,
): Promise<SavedAnswer | undefined> {
  await run(inside, claimStatement(inside, claim, { instanceId, leaseMs: 0, lapsed: undefined }))
  const row = await findKey(inside, claim)
  if (row === undefined) throw stillRunning()
  if (row.subject_id === claim.subjectId) return undefined
  if (Buffer.compare(row.fingerprint, claim.fingerprint) !== 0) throw keyReused()
  if (row.state === 'running') throw stillRunning()
  if (row.status === null || row.headers === null || row.body === null) throw resultTooLarge()
  return { status: row.status, headers: JSON.parse(row.headers), body: row.body }
}

async function run(inside: Transaction<Database>, { sql, parameters }: BatchStatement): Promise<void> {
  await inside.executeQuery(CompiledQuery.raw(sql, [...parameters]))
}
