import { useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type Pages, usePages } from '../../../ui/paged.tsx'

export type Device = paths['/v1/devices']['get']['responses'][200]['content']['application/json']['data'][number]

const DEVICES = '/v1/devices'
const PAGE_SIZE = 50

/** @param ofAll Everybody's, for those who may see them. Those that are connected no longer are included. */
export function useDevices(ofAll: boolean): Pages<Device> {
  return usePages([DEVICES, ofAll], (cursor) =>
    take(
      api.GET('/v1/devices', {
        params: {
          query: { limit: PAGE_SIZE, all: ofAll ? 'true' : 'false', ...(cursor !== undefined && { cursor }) },
        },
      }),
    ),
  )
}

export function useDisconnect(): (id: string) => Promise<void> {
  const queries = useQueryClient()
  return async (id) => {
    await take(api.DELETE('/v1/devices/{id}', { params: { path: { id } } }))
    await queries.invalidateQueries({ queryKey: [DEVICES] })
  }
}
