/** `/budgets`: the budgets of all levels, those of tags among them, and temporary raises. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../../db/schema/schema.ts'
import { BUDGET_LEVELS, type BudgetLevel, type BudgetStatus, type OwnedSubject } from '../../../domain/budget.ts'
import { GatewayError } from '../../../domain/errors.ts'
import type { AccountId, BudgetId, KeyId, TeamId, UserId } from '../../../domain/ids.ts'
import {
  BudgetsInput,
  BudgetView,
  MAX_BUDGET_USD,
  parseAmount,
  parseBudgets,
  renderBudget,
} from '../../../http/fields/budgets.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../../http/page.ts'
import { type AuditedRequest, auditOf } from '../../../http/request-origin.ts'
import { oneOf } from '../../../http/wire-fields.ts'
import { ISO_TIME_PATTERN, parseIsoTime } from '../../../lib/time.ts'
import type { BudgetPort, ListDeps, WriteAudit } from '../../deps.ts'
import { addRaise, endRaise, unknownBudget } from './raises.ts'
import { budgetStatuses, listBudgets } from './store.ts'

export interface BudgetsDeps extends ListDeps {
  readonly budgets: BudgetPort
  readonly writeAudit: WriteAudit
}

const MAX_SUBJECT_LENGTH = 128
const MAX_REASON_LENGTH = 500
/** `key=value`, as requests name tags. */
const TAG = /^[a-z0-9_.:-]{1,32}=[a-z0-9_.:-]{1,64}$/

const read = { scope: 'usage:read' } as const
const write = { scope: 'billing' } as const
const tags = ['Budgets']
const closed = { additionalProperties: false }

const Level = oneOf(BUDGET_LEVELS)
const Subject = Type.String({
  minLength: 1,
  maxLength: MAX_SUBJECT_LENGTH,
  description: 'ID of the account, team, user or key; of a tag `key=value`.',
})
const BudgetParams = Type.Object({ id: Type.Unsafe<BudgetId>({ type: 'string' }) })

const listSchema = {
  summary: 'List budgets',
  description: 'Returns the budgets of the account and everything in it, with what is spent in their current windows.',
  tags,
  querystring: Type.Object({ ...PAGE_QUERY, level: Type.Optional(Level), subject: Type.Optional(Subject) }),
  response: { 200: pageSchema(BudgetView) },
}
const readSchema = {
  summary: 'Get a budget',
  description: 'Returns a budget with what is spent in its current window.',
  tags,
  params: BudgetParams,
  response: { 200: BudgetView },
}
const replaceSchema = {
  summary: 'Set the budgets of a subject',
  description:
    'Replaces the budgets of the account, a team, member, key or tag. In force for the next request. `[]` removes all.',
  tags,
  body: Type.Object({ level: Level, subject: Type.Optional(Subject), budgets: BudgetsInput }, closed),
  response: { 200: Type.Object({ object: Type.Literal('list'), data: Type.Array(BudgetView) }) },
}
const raiseSchema = {
  summary: 'Raise a budget for a time',
  description: 'Adds an amount to the limit of a budget until a time. The audit log records it with its reason.',
  tags,
  params: BudgetParams,
  body: Type.Object(
    {
      usd: Type.Number({ minimum: 0.000000001, maximum: MAX_BUDGET_USD, description: 'Added to the limit.' }),
      ends_at: Type.String({
        maxLength: 64,
        pattern: ISO_TIME_PATTERN,
        description: 'ISO 8601, in the future.',
        examples: ['2030-01-01T00:00:00Z'],
      }),
      reason: Type.String({ minLength: 1, maxLength: MAX_REASON_LENGTH, pattern: '\\S' }),
    },
    closed,
  ),
  response: { 201: BudgetView },
}
const endRaiseSchema = {
  summary: 'End a raise',
  description: 'Ends a raise now. Requests that it admitted are not affected.',
  tags,
  params: Type.Object({ ...BudgetParams.properties, raise_id: Type.String() }),
  response: { 200: BudgetView },
}

/** `GET` and `PUT /budgets`, `GET /budgets/{id}`, and its raises. */
export function budgetsRoutes(deps: BudgetsDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, cursorKey } = deps
  return async (app) => {
    app.get('/budgets', { config: read, schema: listSchema }, async (request) => {
      const { accountId, teamId } = callerOf(request)
      // A key of a team sees the budgets of its team.
      const { level, subject } = teamId === undefined ? request.query : { level: 'team' as const, subject: teamId }
      const filter = level === undefined && subject === undefined ? undefined : JSON.stringify([level, subject])
      const binding = { key: cursorKey, account: accountId, list: 'budgets', filter }
      const read = async (page: PageRequest) => {
        const statuses = await listBudgets(db, { accountId, level, subject, page, now: now() })
        return statuses.map(renderBudget)
      }
      return listPage({ query: request.query, binding, read, position: byId, render: (view) => view })
    })
    app.get('/budgets/:id', { config: read, schema: readSchema }, async (request) => {
      const { accountId, teamId } = callerOf(request)
      const view = await viewOf(deps, accountId, request.params.id)
      if (teamId !== undefined && (view.level !== 'team' || view.subject !== teamId)) throw unknownBudget()
      return view
    })
    app.put('/budgets', { config: write, schema: replaceSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const { level, subject: id = level === 'account' ? accountId : '', budgets: sent } = request.body
      const subject: OwnedSubject = { accountId, level, id }
      const budgets = parseBudgets(sent)
      await db.transaction().execute(async (inside) => {
        await assertSubject(inside, subject)
        await deps.budgets.replace(inside, { subject, budgets, audited: auditOf(request, callerOf(request)) })
      })
      const data = await budgetStatuses(db, { accountId, subjects: [subject], now: now() })
      return { object: 'list' as const, data: data.map(renderBudget) }
    })
    addRaiseRoutes(app, deps)
  }
}

type TypedApp = Parameters<FastifyPluginAsyncTypebox>[0]

function addRaiseRoutes(app: TypedApp, deps: BudgetsDeps): void {
  const { callerOf } = deps
  app.post('/budgets/:id/raises', { config: write, schema: raiseSchema }, async (request, reply) => {
    const audited = auditOf(request, callerOf(request))
    const raise = parseRaise(request.body, deps.now())
    await addRaise(deps, { budgetId: request.params.id, audited, ...raise })
    return reply.code(201).send(await viewOf(deps, audited.accountId, request.params.id))
  })
  app.delete('/budgets/:id/raises/:raise_id', { config: write, schema: endRaiseSchema }, async (request) => {
    const audited: AuditedRequest = auditOf(request, callerOf(request))
    const { id: budgetId, raise_id: raiseId } = request.params
    await endRaise(deps, { budgetId, raiseId, audited })
    return viewOf(deps, audited.accountId, budgetId)
  })
}

async function viewOf(
  { db, now }: BudgetsDeps,
  accountId: AccountId,
  id: BudgetId,
): Promise<Static<typeof BudgetView>> {
  const [status]: readonly BudgetStatus[] = await budgetStatuses(db, { accountId, ids: [id], now: now() })
  if (status === undefined) throw unknownBudget()
  return renderBudget(status)
}

interface RaiseBody {
  readonly usd: number
  readonly ends_at: string
  readonly reason: string
}

function parseRaise({ usd, ends_at: text, reason }: RaiseBody, now: number) {
  const endsAt = parseIsoTime(text)
  if (endsAt === undefined)
    throw new GatewayError('invalid_value', "'ends_at' must be an ISO 8601 time.", { param: 'ends_at' })
  if (endsAt <= now) throw new GatewayError('out_of_range', "'ends_at' must be in the future.", { param: 'ends_at' })
  return { nanoUsd: parseAmount(usd, 'usd'), endsAt, reason: reason.trim() }
}

/** Throws 404 for a subject that is not the account's, and 400 for a malformed tag. */
export async function assertSubject(db: Kysely<Database>, subject: OwnedSubject): Promise<void> {
  if (await SUBJECTS[subject.level](db, subject)) return
  if (subject.level === 'tag')
    throw new GatewayError('invalid_value', "'subject' must be key=value, such as customer=northwind.", {
      param: 'subject',
    })
  throw new GatewayError('not_found', `No ${subject.level} has this ID.`)
}

type SubjectCheck = (db: Kysely<Database>, subject: OwnedSubject) => Promise<boolean>

const SUBJECTS: Readonly<Record<BudgetLevel, SubjectCheck>> = {
  account: async (_db, { accountId, id }) => id === accountId,
  async team(db, { accountId, id }) {
    const rows = db.selectFrom('team').select('id').where('account_id', '=', accountId)
    return (
      (await rows
        .where('id', '=', id as TeamId)
        .where('archived_at', 'is', null)
        .executeTakeFirst()) !== undefined
    )
  },
  async member(db, { accountId, id }) {
    const rows = db.selectFrom('member').select('user_id').where('account_id', '=', accountId)
    const member = rows.where('user_id', '=', id as UserId).where('removed_at', 'is', null)
    return (await member.executeTakeFirst()) !== undefined
  },
  async key(db, { accountId, id }) {
    const rows = db.selectFrom('api_key').select('id').where('account_id', '=', accountId)
    return (
      (await rows
        .where('id', '=', id as KeyId)
        .where('revoked_at', 'is', null)
        .executeTakeFirst()) !== undefined
    )
  },
  tag: async (_db, { id }) => TAG.test(id),
}
