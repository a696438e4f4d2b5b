/** All accounts of the installation, and what its operator does with them. */
import { type Query, type QueryKey, queryOptions, useIsFetching, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type Pages, usePages } from '../../../ui/table/paged.tsx'

const ACCOUNTS = '/v1/admin/accounts'
const PAGE_SIZE = 100

export type Account =
  paths['/v1/admin/accounts']['get']['responses'][200]['content']['application/json']['data'][number]
export type Plan = paths['/v1/admin/plans']['get']['responses'][200]['content']['application/json']['data'][number]
export type CreditBody = paths['/v1/admin/accounts/{id}/credits']['post']['requestBody']['content']['application/json']
export type CreditEntry =
  paths['/v1/admin/accounts/{id}/credits']['post']['responses'][201]['content']['application/json']
type AccountBody = paths['/v1/admin/accounts']['post']['requestBody']['content']['application/json']

/** @param search Part of a name, or a whole id; undefined: all. */
export function useAccounts(search: string | undefined): Pages<Account> {
  return usePages(listKey(search), (cursor) =>
    take(
      api.GET('/v1/admin/accounts', {
        params: {
          query: {
            limit: PAGE_SIZE,
            ...(search !== undefined && { search }),
            ...(cursor !== undefined && { cursor }),
          },
        },
      }),
    ),
  )
}

/** Whether the list is still that of another search. */
export function useIsSearching(search: string | undefined): boolean {
  const loading = { queryKey: listKey(search), predicate: ({ state }: Query) => state.data === undefined }
  return useIsFetching(loading) > 0
}

function listKey(search: string | undefined): QueryKey {
  return [ACCOUNTS, 'list', search ?? '']
}

export function accountQuery(id: string) {
  return queryOptions({
    queryKey: [ACCOUNTS, 'one', id],
    queryFn: () => take(api.GET('/v1/admin/accounts/{id}', { params: { path: { id } } })),
  })
}

/** Of the configuration; they change when it is loaded again. */
export const plansQuery = queryOptions({
  queryKey: ['/v1/admin/plans'],
  queryFn: async (): Promise<readonly Plan[]> => (await take(api.GET('/v1/admin/plans'))).data,
  staleTime: 60_000,
})

export function useAccountActions() {
  const queries = useQueryClient()
  /** The operator's own account may be the one that was changed. */
  const changed = () =>
    Promise.all(
      [ACCOUNTS, '/v1/account', '/v1/usage', '/v1/ledger', '/v1/ledger/statement', '/v1/me'].map((path) =>
        queries.invalidateQueries({ queryKey: [path] }),
      ),
    )
  return {
    async create(body: AccountBody): Promise<Account> {
      const created = await take(api.POST('/v1/admin/accounts', { body }))
      void changed()
      return created
    },
    async changePlan(id: string, plan: string): Promise<void> {
      await take(api.PATCH('/v1/admin/accounts/{id}', { params: { path: { id } }, body: { plan } }))
      await changed()
    },
    async enterCredit(id: string, body: CreditBody, key: string): Promise<CreditEntry> {
      const params = { path: { id }, header: { 'idempotency-key': key } }
      const entry = await take(api.POST('/v1/admin/accounts/{id}/credits', { params, body }))
      await changed()
      return entry
    },
  }
}
