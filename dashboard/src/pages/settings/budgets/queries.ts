/** Budgets as the gateway tells of them, and what is done to them. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type Pages, usePages } from '../../../ui/table/paged.tsx'

export type Budget = paths['/v1/budgets']['get']['responses'][200]['content']['application/json']['data'][number]
export type BudgetLevel = Budget['level']
export type BudgetTerms = paths['/v1/budgets']['put']['requestBody']['content']['application/json']['budgets'][number]
export type RaiseBody = paths['/v1/budgets/{id}/raises']['post']['requestBody']['content']['application/json']

export type Subject = Pick<Budget, 'level' | 'subject'>

const BUDGETS = '/v1/budgets'
const PAGE_SIZE = 50
/** More than a subject can have. */
const ALL_OF_SUBJECT = 100
/** What is spent changes with every request. */
const FRESH_MS = 10_000

/** Undefined: of all levels. */
export function useBudgets(level: BudgetLevel | undefined): Pages<Budget> {
  return usePages(
    [BUDGETS, level ?? ''],
    (cursor) => {
      const query = {
        limit: PAGE_SIZE,
        ...(level !== undefined && { level }),
        ...(cursor !== undefined && { cursor }),
      }
      return take(api.GET(BUDGETS, { params: { query } }))
    },
    { refetchInterval: FRESH_MS },
  )
}

export function useBudget(id: string) {
  return useQuery({
    queryKey: [BUDGETS, 'one', id],
    queryFn: () => take(api.GET('/v1/budgets/{id}', { params: { path: { id } } })),
    refetchInterval: FRESH_MS,
  })
}

/** Those of a team, a member, a key, a tag or the account. */
export function useBudgetsOf({ level, subject }: Subject) {
  return useQuery({
    queryKey: [BUDGETS, level, subject],
    queryFn: () => readBudgetsOf({ level, subject }),
    refetchInterval: FRESH_MS,
  })
}

async function readBudgetsOf({ level, subject }: Subject): Promise<readonly Budget[]> {
  const query = { level, subject, limit: ALL_OF_SUBJECT, order: 'asc' as const }
  return (await take(api.GET(BUDGETS, { params: { query } }))).data
}

export function useBudgetActions() {
  const queries = useQueryClient()
  const changed = async (): Promise<void> => {
    await Promise.all([BUDGETS, '/v1/teams', '/v1/keys'].map((path) => queries.invalidateQueries({ queryKey: [path] })))
  }
  /** The gateway takes all budgets of a subject: the others are sent as they are now. */
  const replace = async ({ level, subject }: Subject, without: string | undefined, added: readonly BudgetTerms[]) => {
    const others = (await readBudgetsOf({ level, subject })).filter(({ id }) => id !== without)
    const budgets = [...others.map(termsOf), ...added]
    await take(api.PUT(BUDGETS, { body: { level, subject, budgets } }))
    await changed()
  }
  return {
    add: (subject: Subject, terms: BudgetTerms) => replace(subject, undefined, [terms]),
    change: (budget: Budget, terms: BudgetTerms) => replace(budget, budget.id, [terms]),
    remove: (budget: Budget) => replace(budget, budget.id, []),
    async raise(id: string, body: RaiseBody): Promise<void> {
      await take(api.POST('/v1/budgets/{id}/raises', { params: { path: { id } }, body }))
      await changed()
    },
    async endRaise(id: string, raiseId: string): Promise<void> {
      const path = { id, raise_id: raiseId }
      await take(api.DELETE('/v1/budgets/{id}/raises/{raise_id}', { params: { path } }))
      await changed()
    },
  }
}

/** What was set for a budget. */
export function termsOf({ usd, window, starts, timezone, action }: Budget): BudgetTerms {
  return { usd, window, starts, timezone, action }
}
