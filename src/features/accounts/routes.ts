/** `/account`: the caller's account. `/admin/accounts`: every account, for operators. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Transaction } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../db/schema/schema.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import { type BudgetStatus, type BudgetTerms, subjectName } from '../../domain/budget.ts'
import type { AccountCredit, AccountCreditPort } from '../../domain/credit.ts'
import type { DataPolicy } from '../../domain/data-policy.ts'
import { notFound } from '../../domain/errors.ts'
import type { AccountId } from '../../domain/ids.ts'
import { assertRight } from '../../http/caller.ts'
import { parseOptionalBudgets, renderBudget } from '../../http/fields/budgets.ts'
import { byId, listPage, type PageRequest, pageSchema } from '../../http/page.ts'
import { auditOf, auditOfOperator } from '../../http/request-origin.ts'
import { readDataPolicy } from '../../http/wire-fields.ts'
import { isRecord } from '../../lib/json.ts'
import type { BudgetPort, FeatureDeps, ListDeps, WriteAudit } from '../deps.ts'
import { type Account, createAccount, findAccount, listAccounts, readFigures, updateAccount } from './queries.ts'
import {
  AccountCreate,
  AccountDetailView,
  AccountPatch,
  AccountsQuery,
  AccountView,
  findPlan,
  OwnAccountPatch,
  OwnAccountView,
  type Plans,
  PlanView,
  parseOverrun,
  parseSettings,
  planFinder,
  renderAdminAccount,
  renderOwnAccount,
  renderPlans,
} from './shapes.ts'

export interface AccountsDeps extends FeatureDeps {
  readonly credit: AccountCreditPort
  readonly budgets: BudgetPort
  readonly writeAudit: WriteAudit
  /** Returns the current plans. */
  readonly plans: () => Plans
  /** Awaited after a change of plan or policy: when it resolves, the change is in force in this process. */
  readonly changed: () => void | Promise<void>
}

export interface AccountsAdminDeps extends AccountsDeps, ListDeps {}

const own = { scope: 'billing' } as const
const readSchema = {
  summary: 'Get the account',
  description: 'Returns the account of the credential, with its budget, alerts, and the limits of its plan.',
  tags: ['Account'],
  response: { 200: OwnAccountView },
}
const writeSchema = {
  summary: 'Change the account',
  description:
    'Changes only the fields that are sent. A budget applies from the next request on. `data_policy` requires the right `members`.',
  tags: ['Account'],
  body: OwnAccountPatch,
  response: { 200: OwnAccountView },
}

/** `GET` and `PATCH /account`. */
export function accountRoutes(deps: AccountsDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, credit, changed, writeAudit } = deps
  return async (app) => {
    app.get('/account', { config: own, schema: readSchema }, async (request) => {
      const account = known(await findAccount(db, callerOf(request).accountId))
      return viewOwn(deps, account, await credit.read(account))
    })
    app.patch('/account', { config: own, schema: writeSchema }, async (request) => {
      const id = callerOf(request).accountId
      const caller = callerOf(request)
      const { budgets: sent, ...values } = request.body
      const { name, data_policy } = values
      if (data_policy !== undefined) assertRight(caller, 'members')
      const settings = parseSettings(request.body)
      const budgets = parseOptionalBudgets(sent)
      const before = known(await findAccount(db, id))
      const money = settings === undefined ? await credit.read(before) : await credit.configure(before, settings)
      const account = await db.transaction().execute(async (inside) => {
        const audited = auditOf(request, caller)
        if (Object.keys(values).length > 0) await writeAudit(inside, { ...audited, ...changedEvent(id, values) })
        if (budgets !== undefined) await deps.budgets.replace(inside, { subject: ofAccount(id), budgets, audited })
        if (settings?.alertThresholds !== undefined) await deps.budgets.alertAll(inside, id)
        const change = { name: name?.trim(), dataPolicy: policyIn(data_policy) }
        const isChanged = Object.values(change).some((value) => value !== undefined)
        return isChanged ? known(await updateAccount(inside, { id, ...change }, now())) : before
      })
      if (data_policy !== undefined) await changed()
      return viewOwn(deps, account, money)
    })
  }
}

async function viewOwn(
  { db, now, plans, budgets }: AccountsDeps,
  account: Account,
  credit: AccountCredit,
): Promise<Static<typeof OwnAccountView>> {
  const figuresOf = await readFigures(db, [account.id], now())
  const { allowanceNanoUsd } = figuresOf(account.id)
  const plan = findPlan(plans(), account.plan)
  return renderOwnAccount(account, { credit, allowanceNanoUsd, plan, budgets: await budgetsOf(budgets, account.id) })
}

function ofAccount(accountId: AccountId) {
  return { accountId, level: 'account', id: accountId } as const
}

interface BudgetChange {
  readonly request: FastifyRequest
  readonly id: AccountId
  readonly budgets: readonly BudgetTerms[] | undefined
}

/** By an operator: the account's log has it without key and address. */
async function replaceBudgets(
  { budgets: port, callerOf }: AccountsDeps,
  inside: Transaction<Database>,
  { request, id, budgets }: BudgetChange,
): Promise<void> {
  const audited = auditOfOperator(request, callerOf(request), id).at(-1)
  if (budgets !== undefined && audited !== undefined)
    await port.replace(inside, { subject: ofAccount(id), budgets, audited })
}

async function budgetsOf(budgets: BudgetPort, id: AccountId): Promise<readonly BudgetStatus[]> {
  const found = await budgets.read(id, [ofAccount(id)])
  return found.get(subjectName(ofAccount(id))) ?? []
}

const operator = { scope: 'operator' } as const
const tags = ['Operators']
const listSchema = {
  summary: 'List accounts',
  description: 'Returns all accounts of the installation, or those that match `search`.',
  tags,
  querystring: AccountsQuery,
  response: { 200: pageSchema(AccountView) },
}
const readOneSchema = {
  summary: 'Get an account',
  description: 'Finds any account of the installation, after granting the allowance of its plan for this month.',
  tags,
  params: Type.Object({ id: Type.Unsafe<AccountId>({ type: 'string' }) }),
  response: { 200: AccountDetailView },
}
const plansSchema = {
  summary: 'List plans',
  description: 'Returns the plans of the configuration.',
  tags,
  response: { 200: Type.Object({ object: Type.Literal('list'), data: Type.Array(PlanView) }) },
}
const createSchema = {
  summary: 'Create an account',
  description: 'Grants the account the allowance of its plan for this month.',
  tags,
  body: AccountCreate,
  response: { 201: AccountDetailView },
}
const updateSchema = {
  summary: 'Change an account',
  description: 'Changes only the fields that are sent. A new plan takes effect in every process within a second.',
  tags,
  params: Type.Object({ id: Type.Unsafe<AccountId>({ type: 'string' }) }),
  body: AccountPatch,
  response: { 200: AccountDetailView },
}

/** `GET` and `POST /admin/accounts`, `GET` and `PATCH /admin/accounts/{id}`, `GET /admin/plans`. */
export function accountsAdminRoutes(deps: AccountsAdminDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, credit, plans } = deps
  return async (app) => {
    app.get('/admin/accounts', { config: operator, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const search = request.query.search?.trim()
      const binding = { key: deps.cursorKey, account: accountId, list: 'admin/accounts', filter: search }
      const read = async (page: PageRequest) => {
        const accounts = await listAccounts(db, { ...page, search })
        const figuresOf = await readFigures(
          db,
          accounts.map(({ id }) => id),
          now(),
        )
        return accounts.map((account) => renderAdminAccount(account, figuresOf(account.id)))
      }
      return listPage({ query: request.query, binding, read, position: byId, render: (view) => view })
    })
    app.get('/admin/accounts/:id', { config: operator, schema: readOneSchema }, async (request) => {
      const account = known(await findAccount(db, request.params.id))
      await credit.read(account)
      return viewAny(deps, account)
    })
    app.get('/admin/plans', { config: operator, schema: plansSchema }, async () => {
      return { object: 'list' as const, data: renderPlans(plans()) }
    })
    await app.register(changingRoutes(deps))
  }
}

function changingRoutes(deps: AccountsAdminDeps): FastifyPluginAsyncTypebox {
  const { db, now, ids, callerOf, credit, changed, writeAudit } = deps
  const choosePlan = planFinder(deps.plans)
  return async (app) => {
    app.post('/admin/accounts', { config: operator, schema: createSchema }, async (request, reply) => {
      const plan = choosePlan(request.body.plan)
      const name = request.body.name.trim()
      const budgets = parseOptionalBudgets(request.body.budgets)
      const account = await db.transaction().execute(async (inside) => {
        const created = await createAccount(inside, { name, plan }, { now, ids })
        const event = accountEvent('account.created', created.id, { name, plan })
        for (const audited of auditOfOperator(request, callerOf(request), created.id)) {
          await writeAudit(inside, { ...audited, ...event })
        }
        await replaceBudgets(deps, inside, { request, id: created.id, budgets })
        return created
      })
      await credit.read(account)
      return reply.code(201).send(await viewAny(deps, account))
    })
    app.patch('/admin/accounts/:id', { config: operator, schema: updateSchema }, async (request) => {
      const { name, plan, data_policy, max_overrun_usd } = request.body
      const overrun = parseOverrun(request.body)
      const budgets = parseOptionalBudgets(request.body.budgets)
      const change = { plan: plan === undefined ? undefined : choosePlan(plan), name: name?.trim() }
      const dataPolicy = policyIn(data_policy)
      const account = await db.transaction().execute(async (inside) => {
        const updated = known(await updateAccount(inside, { id: request.params.id, ...change, dataPolicy }, now()))
        const event = changedEvent(updated.id, { ...change, data_policy, max_overrun_usd })
        for (const audited of auditOfOperator(request, callerOf(request), updated.id)) {
          await writeAudit(inside, { ...audited, ...event })
        }
        await replaceBudgets(deps, inside, { request, id: updated.id, budgets })
        return updated
      })
      await changed()
      if (overrun === undefined) await credit.read(account)
      else await credit.configure(account, overrun)
      return viewAny(deps, account)
    })
  }
}

async function viewAny(
  { db, now, budgets }: AccountsDeps,
  account: Account,
): Promise<Static<typeof AccountDetailView>> {
  const figuresOf = await readFigures(db, [account.id], now())
  const found = await budgetsOf(budgets, account.id)
  return { ...renderAdminAccount(account, figuresOf(account.id)), budgets: found.map(renderBudget) }
}

type AccountEvent = Pick<AuditEvent, 'action' | 'subject' | 'result' | 'details'>

/** Undefined: not sent; null: none. */
function policyIn(sent: Static<typeof AccountPatch>['data_policy']): DataPolicy | null | undefined {
  return sent === undefined ? undefined : (readDataPolicy(sent) ?? null)
}

/** Returns the event with the sent values; null is a value. */
function changedEvent(id: AccountId, values: Readonly<Record<string, unknown>>): AccountEvent {
  const sent = Object.entries(values).filter(([, value]) => value !== undefined)
  const details = sent.map(([name, value]) => [name, auditable(value)])
  return accountEvent('account.changed', id, Object.fromEntries(details))
}

function auditable(value: unknown): AuditEvent['details'][string] {
  if (Array.isArray(value)) return value.map(String)
  return isRecord(value) ? JSON.stringify(value) : (value as string | number | null)
}

function accountEvent(action: string, id: AccountId, details: AuditEvent['details']): AccountEvent {
  return { action, subject: id, result: 'done', details }
}

function known(account: Account | undefined): Account {
  if (account === undefined) throw notFound('account')
  return account
}
