/** `/usage`: what an account has used, added up and completion by completion. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import type { Static } from 'typebox'
import type { AccountTable, Database } from '../../db/schema/schema.ts'
import type { AccountCredit, AccountCreditPort } from '../../domain/credit.ts'
import { GatewayError, notFound } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, KeyId, TeamId } from '../../domain/ids.ts'
import type { ModelKind } from '../../domain/model.ts'
import { assertRight } from '../../http/caller.ts'
import { ALL_TIME, type Period, parsePeriod } from '../../http/period.ts'
import { type CsvField, renderCsv } from '../../lib/table.ts'
import type { FeatureDeps, ListDeps } from '../deps.ts'
import { completionRoutes } from './completion-routes.ts'
import { sumAgents } from './dimension-parts.ts'
import {
  dimensionRows,
  groupDimensions,
  hasDimensionFilter,
  parseDimensions,
  readDimensionFilter,
  renderDimensionGroups,
  sumDimensions,
} from './dimensions.ts'
import { focusRows } from './focus.ts'
import { type Names, namesOfAccounts, namesOfAgents, namesOfKeys } from './names.ts'
import { performanceRoutes } from './performance.ts'
import { monthOf } from './period.ts'
import { sumUsage } from './queries.ts'
import { rejectionRoutes } from './rejections.ts'
import {
  ALL,
  buildReport,
  checkInterval,
  dimensionsOf,
  type Grouping,
  groupingOf,
  type Report,
  ReportFile,
  ReportQuery,
  ReportView,
  renderReport,
  reportRows,
} from './report.ts'

export type UsageDeps = ListDeps & Pick<ReportDeps, 'credit' | 'unlimitedCreditUsd' | 'kindOf'>

export function usageRoutes(deps: UsageDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    await app.register(reportRoutes(deps))
    await app.register(performanceRoutes(deps))
    await app.register(completionRoutes(deps))
    await app.register(rejectionRoutes(deps))
  }
}

interface ReportDeps extends Pick<FeatureDeps, 'db' | 'now' | 'callerOf'> {
  readonly credit: Pick<AccountCreditPort, 'read'>
  /** By the plan's name: USD that an account without a limit is shown; the usual amount unless given. */
  readonly unlimitedCreditUsd?: (plan: string) => number
  /** By a model's ID; chat unless given. */
  readonly kindOf?: (model: string) => ModelKind
}

export const DEFAULT_UNLIMITED_CREDIT_USD = 1_000_000

const schema = {
  summary: 'Get the usage of a period',
  description: 'Returns tokens and cost by model, most expensive first. Completions are counted within a second.',
  tags: ['Usage'],
  querystring: ReportQuery,
  response: {
    200: {
      description: 'The report.',
      content: { 'application/json': { schema: ReportView }, 'text/csv': { schema: ReportFile } },
    },
  },
}

function reportRoutes(deps: ReportDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, credit, unlimitedCreditUsd = () => DEFAULT_UNLIMITED_CREDIT_USD } = deps
  const { kindOf = () => 'chat' } = deps
  return async (app) => {
    app.get('/usage', { config: { scope: 'usage:read' }, schema }, async (request, reply) => {
      const { scopes, teamId } = callerOf(request)
      if (request.query.account === ALL) return reportAll(deps, request, reply)
      const { id, plan } = await reportedAccount(db, callerOf(request), request.query.account)
      const query = inTeam(request.query, teamId)
      const { group_by: groups, format } = query
      const isOperator = scopes.has('operator')
      const period = parsePeriod(query, defaultPeriod(query, now()))
      const grouping = groupingOf(groups)
      if (grouping === 'account') throw onlyOfAll()
      if (format === 'focus') {
        checkFocus(query)
        const filter = readDimensionFilter(query, id)
        return sendCsv(reply, await focusRows(db, { accountId: id, period, filter, kindOf }), fileName(period, 'focus'))
      }
      if ((groups !== undefined && grouping === undefined) || hasDimensionFilter(query)) {
        const { rows, view } = await readDimensions(db, id, { query, period, kindOf, isOperator })
        if (format === 'csv') return sendCsv(reply, rows, fileName(period, 'dimensions'))
        const context = { period, names: undefined, isOperator, credit: await credit.read({ id, plan }) }
        return {
          ...renderReport(view.report, { ...context, unlimitedCreditUsd: unlimitedCreditUsd(plan) }),
          ...view.groups,
        }
      }
      const report = await readReport(db, id, { ...query, group_by: grouping, period, kindOf })
      if (format !== 'csv') {
        const names = await namesOf(db, id, { grouping, groups: report.groups })
        const account = await credit.read({ id, plan })
        const context = { period, names, isOperator, credit: account, unlimitedCreditUsd: unlimitedCreditUsd(plan) }
        return renderReport(report, context)
      }
      return sendCsv(reply, reportRows(report.groups ?? report.models), fileName(period, grouping))
    })
  }
}

/** The caller's own unless it names another. Throws 403 for callers who are no operators, 404 for an unknown account. */
async function reportedAccount(
  db: Kysely<Database>,
  caller: Caller,
  named: AccountId | undefined,
): Promise<Pick<AccountTable, 'id' | 'plan'>> {
  if (named === undefined) return { id: caller.accountId, plan: caller.plan }
  assertRight(caller, 'operator')
  const found = await db.selectFrom('account').select(['id', 'plan']).where('id', '=', named).executeTakeFirst()
  if (found === undefined || caller.teamId !== undefined) throw notFound('account', 'account')
  return found
}

/** Of all accounts together, from the sums that are kept of each. */
async function reportAll(deps: ReportDeps, request: FastifyRequest, reply: FastifyReply) {
  const { db, now, callerOf, kindOf = () => 'chat' } = deps
  const caller = callerOf(request)
  assertRight(caller, 'operator')
  if (caller.teamId !== undefined) throw notFound('account', 'account')
  const query = request.query as Static<typeof ReportQuery>
  const { group_by: groups, format } = query
  const grouping = groupingOf(groups)
  if (format === 'focus' || hasDimensionFilter(query) || (groups !== undefined && !isOfAll(grouping))) {
    const message =
      "'account=all' goes with 'group_by' model, kind, day or account, without filters of other dimensions."
    throw new GatewayError('invalid_value', message, { param: 'account' })
  }
  const period = parsePeriod(query, defaultPeriod(query, now()))
  const report = await readReport(db, undefined, { ...query, group_by: grouping, period, kindOf })
  const { groups: sums = report.models } = report
  const ids = sums.map(({ key }) => key)
  const names = grouping === 'account' ? await namesOfAccounts(db, ids) : undefined
  if (format === 'csv') return sendCsv(reply, reportRows(sums, names), fileName(period, grouping))
  const credit = await creditOfAll(db)
  return renderReport(report, { period, names, isOperator: true, credit, unlimitedCreditUsd: 0 })
}

function isOfAll(grouping: Grouping | undefined): boolean {
  return grouping === 'model' || grouping === 'kind' || grouping === 'day' || grouping === 'account'
}

/** A FOCUS file has rows of its own. Throws 400 for what would change them. */
function checkFocus(query: Static<typeof ReportQuery>): void {
  const param = (['group_by', 'interval'] as const).find((name) => query[name] !== undefined)
  if (param !== undefined)
    throw new GatewayError('invalid_value', `'${param}' does not go with 'format=focus'.`, { param })
}

function onlyOfAll(): GatewayError {
  const message = "'group_by=account' goes with 'account=all', for operators."
  return new GatewayError('invalid_value', message, { param: 'group_by' })
}

async function creditOfAll(db: Kysely<Database>): Promise<Pick<AccountCredit, 'remainingNanoUsd' | 'heldNanoUsd'>> {
  const sums = await db
    .selectFrom('credit')
    .select(({ fn }) => fn.sum<bigint | null>('balance_nano_usd').as('balance'))
    .select(({ fn }) => fn.sum<bigint | null>('held_nano_usd').as('held'))
    .executeTakeFirstOrThrow()
  return { remainingNanoUsd: sums.balance ?? 0n, heldNanoUsd: sums.held ?? 0n }
}

/** A key of a team reads the usage of its team. Throws 404 for another one. */
function inTeam<Query extends { readonly team_id?: string }>(query: Query, teamId: TeamId | undefined): Query {
  if (teamId === undefined) return query
  if (query.team_id !== undefined && query.team_id !== teamId) throw notFound('team', 'team_id')
  return { ...query, team_id: teamId }
}

function sendCsv(reply: FastifyReply, rows: readonly (readonly CsvField[])[], name: string): FastifyReply {
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}"`)
    .send(renderCsv(rows))
}

interface DimensionRequest {
  readonly query: Static<typeof ReportQuery>
  readonly period: Period
  readonly kindOf: (model: string) => ModelKind
  readonly isOperator: boolean
}

async function readDimensions(
  db: Kysely<Database>,
  accountId: AccountId,
  { query, period, kindOf, isOperator }: DimensionRequest,
) {
  if (query.interval !== undefined)
    throw new GatewayError('invalid_value', "'interval' does not go with these groups or filters.", {
      param: 'interval',
    })
  const dimensions = parseDimensions(query.group_by ?? 'model')
  const filter = readDimensionFilter(query, accountId)
  const summed = await sumDimensions(db, accountId, { period, dimensions, filter, kindOf })
  const groups = groupDimensions(summed, dimensions)
  const models = summed.sums.map((sum) => ({ ...sum, member: '', unit: 0 }))
  const report = buildReport(models, { grouping: undefined, interval: undefined, agents: [], kindOf })
  return {
    rows: dimensionRows(groups, dimensions),
    view: { report, groups: query.group_by === undefined ? {} : renderDimensionGroups(groups, dimensions, isOperator) },
  }
}

/** The current month; with an end alone, the month of the moment before it. */
function defaultPeriod({ period_start: start, period_end: end }: Static<typeof ReportQuery>, now: number): Period {
  const last = start === undefined && end !== undefined ? parsePeriod({ period_end: end }, ALL_TIME).end - 1 : now
  return monthOf(last)
}

async function readReport(
  db: Kysely<Database>,
  accountId: AccountId | undefined,
  query: Omit<Static<typeof ReportQuery>, 'period_start' | 'period_end' | 'group_by'> & {
    readonly group_by: Grouping | undefined
    readonly period: Period
    readonly kindOf: (model: string) => ModelKind
  },
): Promise<Report> {
  const { group_by: grouping, interval, model, key_id: keyId, period, kindOf } = query
  checkInterval({ grouping, interval }, period)
  const filter = { model, keyId: keyId as KeyId | undefined }
  // In this order, so that what agents used is never more than all there is.
  const isOfAgents = grouping === 'agent' && accountId !== undefined
  const agents = isOfAgents ? await sumAgents(db, accountId, { period, filter }) : []
  const sums = await sumUsage(db, accountId, { period, filter, ...dimensionsOf({ grouping, interval }) })
  return buildReport(sums, { grouping, interval, agents, kindOf })
}

/** Undefined where groups are called by their keys. */
async function namesOf(
  db: Kysely<Database>,
  accountId: AccountId,
  { grouping, groups = [] }: { readonly grouping: Grouping | undefined; readonly groups: Report['groups'] },
): Promise<Names | undefined> {
  const keys = groups.map(({ key }) => key)
  if (grouping === 'key') return namesOfKeys(db, accountId, keys)
  return grouping === 'agent' ? namesOfAgents(db, accountId, keys) : undefined
}

function fileName({ start, end }: Period, grouping: Grouping | 'dimensions' | 'focus' = 'model'): string {
  const [first, last] = [start, end].map((time) => new Date(time).toISOString().slice(0, 10))
  return `usage-by-${grouping}-${first}-${last}.csv`
}
