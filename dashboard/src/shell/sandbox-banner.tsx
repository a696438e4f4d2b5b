/** Agents whose commands run without a sandbox: whoever runs the installation sees it on every view. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { ShieldAlert, WifiOff } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { api, take } from '../api/client.ts'
import { useCan } from '../api/me.ts'

export const agentsStateQuery = queryOptions({
  queryKey: ['/v1/admin/agents'],
  queryFn: () => take(api.GET('/v1/admin/agents')),
  staleTime: 60_000,
})

export function SandboxBanner() {
  const isOperator = useCan('operator')
  const { data } = useQuery({ ...agentsStateQuery, enabled: isOperator })
  if (data?.backend !== 'none') return null
  return (
    <p role="alert" className="flex items-start gap-2 border-b border-line bg-bad-soft px-6 py-2 text-sm text-bad">
      <ShieldAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
      <span>
        <strong>Agents run without a sandbox.</strong> Commands from a model run with the rights of the gateway (
        <code>agents.sandbox.backend: none</code>).
      </span>
    </p>
  )
}

/** Says that the network is down and that data may be stale. */
export function OfflineBanner() {
  const isOnline = useSyncExternalStore(listen, () => navigator.onLine)
  return (
    <div role="status">
      {!isOnline && (
        <p className="flex items-center gap-2 border-b border-line bg-warn-soft px-6 py-2 text-sm text-warn">
          <WifiOff aria-hidden="true" className="size-4" /> You are offline. The data may be out of date.
        </p>
      )}
    </div>
  )
}

function listen(changed: () => void): () => void {
  addEventListener('online', changed)
  addEventListener('offline', changed)
  return () => {
    removeEventListener('online', changed)
    removeEventListener('offline', changed)
  }
}
