/** Providers and models that operators store in the database, which has precedence over nothing but the catalogue. */
import { queryOptions, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import { modelsQuery } from '../../../api/models.ts'
import { problemOf } from '../../../api/problem.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type ProviderTestResult, providerTestQuery } from './queries.ts'

type Kinds = paths['/v1/admin/provider_kinds']['get']['responses'][200]['content']['application/json']
export type ProviderKind = Kinds['data'][number]
export type StoredProvider = paths['/v1/admin/providers/{name}']['get']['responses'][200]['content']['application/json']
export type ProviderSettings = paths['/v1/admin/providers/{name}']['put']['requestBody']['content']['application/json']

const MOST_KINDS = 100
/** Another process than the one that stored a provider may test it: within a second it has it, too. */
const SPREADS_MS = 1_000
const NOT_FOUND = 404

export const providerKindsQuery = queryOptions({
  queryKey: ['/v1/admin/provider_kinds'],
  queryFn: async () =>
    (await take(api.GET('/v1/admin/provider_kinds', { params: { query: { limit: MOST_KINDS } } }))).data,
  staleTime: Number.POSITIVE_INFINITY,
})

/** Null: none of that name is stored. */
export const storedProviderQuery = (name: string) =>
  queryOptions({
    queryKey: ['/v1/admin/providers', 'stored', name],
    queryFn: async (): Promise<StoredProvider | null> => {
      try {
        return await take(api.GET('/v1/admin/providers/{name}', { params: { path: { name } } }))
      } catch (error) {
        if (problemOf(error).status === NOT_FOUND) return null
        throw error
      }
    },
  })

export interface NewModel {
  readonly id: string
  readonly provider: string
  /** The provider's own name of it. */
  readonly model: string
  readonly inputUsd: number
  readonly outputUsd: number
}

export function useProviderActions() {
  const queries = useQueryClient()
  const changed = async () => {
    await queries.invalidateQueries({ queryKey: ['/v1/admin/providers'] })
    await queries.invalidateQueries({ queryKey: modelsQuery.queryKey })
  }
  return {
    async store(name: string, body: ProviderSettings): Promise<void> {
      await take(api.PUT('/v1/admin/providers/{name}', { params: { path: { name } }, body }))
      await changed()
    },
    async remove(name: string): Promise<void> {
      await take(api.DELETE('/v1/admin/providers/{name}', { params: { path: { name } } }))
      await changed()
    },
    async test(name: string): Promise<ProviderTestResult> {
      const test = () => queries.fetchQuery({ ...providerTestQuery(name), staleTime: 0 })
      try {
        return await test()
      } catch (error) {
        if (problemOf(error).status !== NOT_FOUND) throw error
        await new Promise((resolve) => setTimeout(resolve, SPREADS_MS))
        return test()
      }
    },
    async addModel({ id, provider, model, inputUsd, outputUsd }: NewModel): Promise<void> {
      const pricing = { input_per_million: inputUsd, output_per_million: outputUsd }
      const body = { deployments: [{ provider, model }], pricing }
      await take(api.PUT('/v1/admin/models/{id}', { params: { path: { id } }, body }))
      await changed()
    },
  }
}
