/** `/ledger`, its statements, and `/usage/reconcile`: the movements of an account's credit, and their reconciliation. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../db/schema/schema.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import {
  type CreditedAccount,
  ENTERED_KINDS,
  type EnteredKind,
  MAX_ENTRY_USD,
  MAX_NOTE_LENGTH,
} from '../../domain/credit.ts'
import { GatewayError, notFound } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId } from '../../domain/ids.ts'
import { parseNanoUsd } from '../../domain/money.ts'
import { byNumber, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { ALL_TIME, parsePeriod } from '../../http/period.ts'
import { IDEMPOTENCY_KEY_FORMAT, parseIdempotencyKey } from '../../http/request-headers.ts'
import { auditOfOperator } from '../../http/request-origin.ts'
import { oneOf } from '../../http/wire-fields.ts'
import type { ListDeps, WriteAudit } from '../deps.ts'
import type { CreditService } from './account-credit.ts'
import { AuditView, auditAccount, renderAudit } from './audit/run.ts'
import { countFindings } from './audit/store.ts'
import { LedgerEntryView, LedgerQuery, listLedger, renderEntry } from './entries.ts'
import type { NewEntry } from './ledger/unit.ts'
import { ReconciledView, reconcile, renderReconciled } from './reconcile.ts'
import { parseStatementPeriod, readStatement, renderStatement, StatementQuery, StatementView } from './statement.ts'

export interface LedgerRoutesDeps extends Pick<ListDeps, 'db' | 'now' | 'callerOf' | 'cursorKey'> {
  /** The time limit of a request with `deep`, in milliseconds. */
  readonly deepBudgetMs?: number
}

const listSchema = {
  summary: 'List the ledger',
  description: 'Returns the entries of the ledger, newest first. Entries never change; the balance is their sum.',
  tags: ['Credit'],
  querystring: Type.Object({ ...LedgerQuery, ...PAGE_QUERY }),
  response: { 200: pageSchema(LedgerEntryView) },
}
const statementSchema = {
  summary: 'Get the statement of a period',
  description:
    'Returns the balance before and after the period, the sum of each kind of ledger entry, and the usage by model. Periods are whole days in UTC.',
  tags: ['Credit'],
  querystring: StatementQuery,
  response: { 200: StatementView },
}
/** Nothing, `null`, or the UUID of an audit. */
const AUDIT_CURSOR_PATTERN = '^(?:null|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?$'
const reconcileSchema = {
  summary: 'Check that usage, ledger and balance agree',
  description:
    'Sums up the completions, their stored totals, the ledger and the open holds in one snapshot of the database, and compares them. `deep=true` also audits the account: it recomputes every charge from tokens and price, for about 2 seconds a request. While `audit.status` is `partial`, send its `cursor` to continue.',
  tags: ['Usage'],
  querystring: Type.Object({
    deep: Type.Optional(
      oneOf(['true', 'false'], {
        description: 'Also audits the account.',
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        pattern: AUDIT_CURSOR_PATTERN,
        description: '`cursor` of a partial audit, to continue it. Only with `deep`.',
        examples: ['00000000-0000-4000-8000-000000000000'],
      }),
    ),
  }),
  response: { 200: Type.Object({ ...ReconciledView.properties, audit: Type.Optional(AuditView) }) },
}

/** `GET /ledger`, `GET /ledger/statement` and `GET /usage/reconcile`. */
export function ledgerRoutes(deps: LedgerRoutesDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, cursorKey, deepBudgetMs } = deps
  return async (app) => {
    app.get('/ledger', { config: { scope: 'billing' }, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const filter = { kind: request.query.kind, period: parsePeriod(request.query, ALL_TIME) }
      const binding = { key: cursorKey, account: accountId, list: 'ledger', filter: JSON.stringify(filter) }
      const read = ({ after, ...page }: PageRequest) =>
        listLedger(db, { ...page, accountId, filter, after: after === undefined ? undefined : Number(after) })
      return listPage({ query: request.query, binding, read, position: byNumber, render: renderEntry })
    })
    app.get('/ledger/statement', { config: { scope: 'billing' }, schema: statementSchema }, async (request) => {
      const period = parseStatementPeriod(request.query, now())
      return renderStatement(await readStatement(db, callerOf(request).accountId, period), period)
    })
    app.get('/usage/reconcile', { config: { scope: 'usage:read' }, schema: reconcileSchema }, async (request) => {
      if (callerOf(request).teamId !== undefined)
        throw new GatewayError('insufficient_scope', 'A key of a team cannot reconcile the account.')
      const { accountId } = callerOf(request)
      const { deep, cursor } = request.query
      const sums = renderReconciled(await reconcile(db, accountId))
      if (deep !== 'true') return sums
      const next = cursor === '' || cursor === 'null' ? undefined : cursor
      const audit = await auditAccount({ db, now, accountId, cursor: next, budgetMs: deepBudgetMs })
      return { ...sums, ok: sums.ok && countFindings(audit.progress) === 0, audit: await renderAudit(db, audit) }
    })
  }
}

interface CreditAdminDeps {
  readonly db: Kysely<Database>
  readonly credit: Pick<CreditService, 'enter'>
  readonly callerOf: (request: FastifyRequest) => Caller
  readonly writeAudit: WriteAudit
}

const CreditEntry = Type.Object(
  {
    kind: oneOf<EnteredKind>(ENTERED_KINDS, {
      description:
        'grant: credit without payment. purchase: paid credit. refund: credit returned to the customer. debit: deducted credit, such as for a chargeback or a correction; the balance may become negative.',
    }),
    usd: Type.Number({
      minimum: 1e-9,
      maximum: MAX_ENTRY_USD,
      description: 'USD, at most 9 decimals. Added to the balance; a debit is deducted from it.',
    }),
    note: Type.Optional(
      Type.String({
        maxLength: MAX_NOTE_LENGTH,
        pattern: '^[^\\u0000]*$',
        description: 'Reason, visible to the customer. Required for a debit.',
      }),
    ),
  },
  { additionalProperties: false },
)
const EntryHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      ...IDEMPOTENCY_KEY_FORMAT,
      description:
        'Creates at most one entry of the account per key. A repeat returns the first response with `idempotent-replayed: true`; with another body it returns 409 `idempotency_key_reused`.',
    }),
  ),
})
const schema = {
  summary: 'Add or remove credit of an account',
  description: 'Returns the new entry of the ledger. Entries never change: correct a mistake with another entry.',
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
      if (account === undefined) throw notFound('account')
      const newEntry = parseEntry(request.body)
      const { entry, isReplay } = await credit.enter(account, newEntry, key)
      if (isReplay) reply.header('idempotent-replayed', 'true')
      // The ledger's writer uses its own transactions, so its row stays even if this one is rolled back.
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

/** Returns undefined if the account does not exist. */
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
