import { queryOptions } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import { callableModels } from './callable.ts'

export const callableModelsQuery = queryOptions({
  queryKey: ['/v1/models', 'callable'],
  staleTime: 60_000,
  queryFn: async () => callableModels((await take(api.GET('/v1/models'))).data),
})
