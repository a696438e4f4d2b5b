/** The account's own provider keys as the gateway tells of them, and what is done to them. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type Pages, usePages } from '../../../ui/table/paged.tsx'

type ListAnswer = paths['/v1/provider-credentials']['get']['responses'][200]['content']['application/json']
export type Credential = ListAnswer['data'][number]
export type CredentialBody = paths['/v1/provider-credentials']['post']['requestBody']['content']['application/json']
export type CredentialChanges = NonNullable<
  paths['/v1/provider-credentials/{id}']['patch']['requestBody']
>['content']['application/json']

const CREDENTIALS = '/v1/provider-credentials'
const PAGE_SIZE = 50
const MOST_KEYS = 100

export function useCredentials(): Pages<Credential> {
  return usePages([CREDENTIALS], (cursor) =>
    take(
      api.GET('/v1/provider-credentials', {
        params: { query: { limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) } },
      }),
    ),
  )
}

export function useCredentialActions() {
  const queries = useQueryClient()
  const changed = () => queries.invalidateQueries({ queryKey: [CREDENTIALS] })
  return {
    async add(body: CredentialBody): Promise<Credential> {
      const added = await take(api.POST('/v1/provider-credentials', { body }))
      await changed()
      return added
    },
    async change(id: string, body: CredentialChanges): Promise<Credential> {
      const after = await take(api.PATCH('/v1/provider-credentials/{id}', { params: { path: { id } }, body }))
      await changed()
      return after
    },
    async remove(id: string): Promise<void> {
      await take(api.DELETE('/v1/provider-credentials/{id}', { params: { path: { id } } }))
      await changed()
    },
  }
}

/** Names of the providers of all models, sorted. */
export function useProviderNames() {
  return useQuery({
    queryKey: ['/v1/models', 'providers'],
    staleTime: 60_000,
    queryFn: async (): Promise<readonly string[]> => {
      const { data } = await take(api.GET('/v1/models'))
      return [...new Set(data.flatMap(({ providers }) => providers.map(({ name }) => name)))].toSorted()
    },
  })
}

export interface KeyChoice {
  readonly id: string
  readonly name: string
}

/** The newest active API keys. */
export function useKeyChoices() {
  return useQuery({
    queryKey: ['/v1/keys', 'choices'],
    staleTime: 60_000,
    queryFn: async (): Promise<readonly KeyChoice[]> => {
      const { data } = await take(api.GET('/v1/keys', { params: { query: { status: 'active', limit: MOST_KEYS } } }))
      return data.map(({ id, name }) => ({ id, name }))
    },
  })
}
