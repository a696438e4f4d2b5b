/** Telemetry destinations as the gateway tells of them, and what is done to them. */
import { useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type Pages, usePages } from '../../../ui/table/paged.tsx'

const DESTINATIONS = '/v1/telemetry-destinations'
const ONE = '/v1/telemetry-destinations/{id}'
const PAGE_SIZE = 50

export type Destination =
  paths[typeof DESTINATIONS]['get']['responses'][200]['content']['application/json']['data'][number]
export type DestinationBody = paths[typeof DESTINATIONS]['post']['requestBody']['content']['application/json']

export function useDestinations(): Pages<Destination> {
  return usePages([DESTINATIONS], (cursor) =>
    take(api.GET(DESTINATIONS, { params: { query: { limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) } } })),
  )
}

export function useDestinationActions() {
  const queries = useQueryClient()
  const changed = () => queries.invalidateQueries({ queryKey: [DESTINATIONS] })
  return {
    async add(body: DestinationBody): Promise<Destination> {
      const added = await take(api.POST(DESTINATIONS, { body }))
      await changed()
      return added
    },
    async enable(id: string, enabled: boolean): Promise<void> {
      await take(api.PATCH(ONE, { params: { path: { id } }, body: { enabled } }))
      await changed()
    },
    async remove(id: string): Promise<void> {
      await take(api.DELETE(ONE, { params: { path: { id } } }))
      await changed()
    },
    /** @returns why a test span was not accepted; null: it was. */
    async test(id: string): Promise<string | null> {
      return (await take(api.POST('/v1/telemetry-destinations/{id}/test', { params: { path: { id } } }))).error
    },
  }
}
