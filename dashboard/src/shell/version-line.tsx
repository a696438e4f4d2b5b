/**
 * Which version runs, with what changed in it. After an upgrade: that the page is still of the version before. For
 * operators: which newer release is known.
 */
import { useQuery } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { meQuery, useMe } from '../api/me.ts'

const CHECK_INTERVAL_MS = 5 * 60_000
/** When the page was opened. */
let openedVersion: string | undefined

export function VersionLine() {
  const { version, newerRelease } = useMe()
  useQuery({ ...meQuery, refetchInterval: CHECK_INTERVAL_MS })
  openedVersion ??= version
  return (
    <div role="status" className="flex flex-col gap-1 px-2.5 py-1 text-xs text-soft">
      {version !== openedVersion && (
        <button
          type="button"
          onClick={() => location.reload()}
          className="flex items-center gap-1.5 text-left text-accent"
        >
          <RefreshCw aria-hidden="true" className="size-3.5 shrink-0" />
          The gateway was updated since this page was opened. Reload
        </button>
      )}
      <a href="/docs/changelog" className="w-fit hover:text-ink hover:underline">
        Version {version}
      </a>
      {newerRelease !== null && (
        <a href="/docs/deploy/upgrades" className="w-fit text-accent hover:underline">
          {newerRelease} is available
        </a>
      )}
    </div>
  )
}
