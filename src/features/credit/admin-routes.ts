/** `/admin/accounts/{id}/credits`: the operator gives an account credit, or takes it away. */
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
import { parseIdempotencyKey } from '../../http/idempotency-key.ts'
import type { WriteAudit } from '../deps.ts'
import type { CreditDesk } from './account-credit.ts'
import { ENTERED_KINDS, type EnteredKind, MAX_ENTRY_USD, MAX_NOTE_LENGTH } from './entry-limits.ts'
import { LedgerEntryView, renderEntry } from './ledger-shapes.ts'
import type { NewEntry } from './unit.ts'

export interface CreditAdminDeps {
  readonly db: Kysely<Database>
  readonly credit: Pick<CreditDesk, 'enter'>
  readonly callerOf: (request: FastifyRequest) => Caller
  readonly writeAudit: WriteAudit
}

const CreditEntry = Type.Object(
  {
    kind: Type.Unsafe<EnteredKind>({
      type: 'string',
      enum: [...ENTERED_KINDS],
      description:
        'grant: for nothing. purchase: paid for. refund: given back to the customer. debit: taken away, such as a ' +
        'chargeback or a correction; the balance may go below zero.',
    }),
    usd: Type.Number({
      exclusiveMinimum: 0,
      maximum: MAX_ENTRY_USD,
      description: 'USD, at most 9 decimals. Added to the balance; a debit is taken from it.',
    }),
    note: Type.Optional(
      Type.String({ maxLength: MAX_NOTE_LENGTH, description: 'Why; the customer sees it. Required for a debit.' }),
    ),
  },
  { additionalProperties: false },
)
const EntryHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description:
        'At most one entry of the account is made under a key, however often and however late it is sent; a repeat ' +
        'gets the same answer, with `idempotent-replayed: true`. With another body: 409 `idempotency_key_reused`.',
    }),
  ),
})
const schema = {
  summary: 'Give an account credit, or take it away',
  description: 'Returns the new row of its ledger. Rows are never changed: a mistake is corrected by another row.',
  tags: ['Operators'],
  params: Type.Object({ id: Type.Unsafe<AccountId>({ type: 'string' }) }),
  headers: EntryHeaders,
  body: CreditEntry,
  response: { 201: LedgerEntryView },
}

/** `POST /admin/accounts/{id}/credits`. */
export function creditAdminRoutes(deps: CreditAdminDeps): FastifyPluginAsyncTypebox {
  const { db, credit, callerOf, writeAudit } = deps
  return async (app) => {
    app.post('/admin/accounts/:id/credits', { config: { scope: 'operator' }, schema }, async (request, reply) => {
      const key = parseIdempotencyKey(request.headers['idempotency-key'])
      const account = await findCreditedAccount(db, request.params.id)
      if (account === undefined) throw new GatewayError('not_found', 'No account has this id.')
      const newEntry = parseEntry(request.body)
      const { entry, isReplay } = await credit.enter(account, newEntry, key)
      if (isReplay) reply.header('idempotent-replayed', 'true')
      // The ledger's writer has transactions of its own. Its row is there, whatever becomes of this one.
      else await auditEntry(request, account.id)
      return reply.code(201).send(renderEntry({ ...entry, adjustedAt: undefined }))
    })
  }

  async function auditEntry(
    request: FastifyRequest<{ Body: Static<typeof CreditEntry> }>,
    id: AccountId,
  ): Promise<void> {
    for (const audited of auditOfOperator(request, callerOf(request), id)) {
      await writeAudit(db, { ...audited, ...creditedEvent(id, request.body) })
    }
  }
}

function creditedEvent(
  id: AccountId,
  { kind, usd, note }: Static<typeof CreditEntry>,
): Pick<AuditEvent, 'action' | 'subject' | 'result' | 'details'> {
  const action = kind === 'debit' ? 'credit.taken' : 'credit.given'
  return { action, subject: id, result: 'done', details: { kind, usd, note: note ?? null } }
}

/** Undefined when there is no such account. */
async function findCreditedAccount(db: Kysely<Database>, id: AccountId): Promise<CreditedAccount | undefined> {
  return db.selectFrom('account').select(['id', 'plan']).where('id', '=', id).executeTakeFirst()
}

function parseEntry({ kind, usd, note }: Static<typeof CreditEntry>): NewEntry {
  const nanoUsd = parseNanoUsd(usd)
  if (nanoUsd === undefined)
    throw new GatewayError('invalid_value', "'usd' has more than 9 decimals.", { param: 'usd' })
  if (kind === 'debit' && (note === undefined || note.trim() === '')) {
    throw new GatewayError('invalid_value', "A debit needs a 'note' that says why.", { param: 'note' })
  }
  return { kind, nanoUsd, note: note === '' ? undefined : note, adjusts: undefined }
}
