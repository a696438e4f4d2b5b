/** `/admin/accounts/{id}/credits`: the operator gives an account credit. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../db/schema.ts'
import type { CreditedAccount } from '../../domain/account-credit.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import type { Caller } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId } from '../../domain/ids.ts'
import { parseNanoUsd } from '../../domain/money.ts'
import { auditOfOperator } from '../../http/audit-origin.ts'
import type { WriteAudit } from '../deps.ts'
import type { CreditDesk } from './account-credit.ts'
import { MAX_ENTRY_USD, MAX_NOTE_LENGTH } from './entry-limits.ts'
import { LedgerEntryView, renderEntry } from './ledger-shapes.ts'
import type { NewEntry } from './unit.ts'

export interface CreditAdminDeps {
  readonly db: Kysely<Database>
  readonly credit: Pick<CreditDesk, 'enter'>
  readonly callerOf: (request: FastifyRequest) => Caller
  readonly writeAudit: WriteAudit
}

const CreditGiven = Type.Object(
  {
    kind: Type.Unsafe<'grant' | 'purchase' | 'refund'>({
      type: 'string',
      enum: ['grant', 'purchase', 'refund'],
      description: 'grant: for nothing. purchase: paid for. refund: given back to the customer.',
    }),
    usd: Type.Number({
      exclusiveMinimum: 0,
      maximum: MAX_ENTRY_USD,
      description: 'USD, at most 9 decimals. Added to the balance, whatever the kind.',
    }),
    note: Type.Optional(Type.String({ maxLength: MAX_NOTE_LENGTH, description: 'Why; the customer sees it.' })),
  },
  { additionalProperties: false },
)
const schema = {
  summary: 'Give an account credit',
  description: 'Answers with the new row of its ledger. There is no way back but another row.',
  tags: ['Operators'],
  params: Type.Object({ id: Type.Unsafe<AccountId>({ type: 'string' }) }),
  body: CreditGiven,
  response: { 201: LedgerEntryView },
}

/** `POST /admin/accounts/{id}/credits`. */
export function creditAdminRoutes(deps: CreditAdminDeps): FastifyPluginAsyncTypebox {
  const { db, credit, callerOf, writeAudit } = deps
  return async (app) => {
    app.post('/admin/accounts/:id/credits', { config: { scope: 'operator' }, schema }, async (request, reply) => {
      const entry = parseEntry(request.body)
      const account = await findCreditedAccount(db, request.params.id)
      if (account === undefined) throw new GatewayError('not_found', 'No account has this id.')
      const entered = await credit.enter(account, entry)
      // The ledger's writer has transactions of its own. Its row is there, whatever becomes of this one.
      for (const audited of auditOfOperator(request, callerOf(request), account.id)) {
        await writeAudit(db, { ...audited, ...creditedEvent(account.id, request.body) })
      }
      return reply.code(201).send(renderEntry({ ...entered, adjustedAt: undefined }))
    })
  }
}

function creditedEvent(
  id: AccountId,
  { kind, usd, note }: Static<typeof CreditGiven>,
): Pick<AuditEvent, 'action' | 'subject' | 'result' | 'details'> {
  return { action: 'credit.given', subject: id, result: 'done', details: { kind, usd, note: note ?? null } }
}

/** Undefined when there is no such account. */
async function findCreditedAccount(db: Kysely<Database>, id: AccountId): Promise<CreditedAccount | undefined> {
  return db.selectFrom('account').select(['id', 'plan']).where('id', '=', id).executeTakeFirst()
}

function parseEntry({ kind, usd, note }: Static<typeof CreditGiven>): NewEntry {
  const nanoUsd = parseNanoUsd(usd)
  if (nanoUsd === undefined)
    throw new GatewayError('invalid_value', "'usd' has more than 9 decimals.", { param: 'usd' })
  return { kind, nanoUsd, note: note === '' ? undefined : note, adjusts: undefined }
}
