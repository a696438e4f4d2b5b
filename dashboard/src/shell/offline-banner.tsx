/** Says that the network is away, and that what is seen may be old. */
import { WifiOff } from 'lucide-react'
import { useSyncExternalStore } from 'react'

export function OfflineBanner() {
  const isOnline = useSyncExternalStore(listen, () => navigator.onLine)
  return (
    <div role="status">
      {!isOnline && (
        <p className="flex items-center gap-2 border-b border-line bg-warn-soft px-6 py-2 text-sm text-warn">
          <WifiOff aria-hidden="true" className="size-4" /> You are offline. What you see may be old.
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
