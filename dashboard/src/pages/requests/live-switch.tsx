import { CircleX, Radio, RefreshCw } from 'lucide-react'
import { SwitchField } from '../../ui/form/toggle-fields.tsx'
import { StatusChip } from '../../ui/status.tsx'
import { useRequestsChange, useRequestsSearch } from './address.ts'
import type { LiveRequests } from './queries.ts'

interface LiveSwitchProps {
  readonly isLive: boolean
  readonly live: LiveRequests
}

/** The switch for live requests, and the state of its connection. */
export function LiveSwitch({ isLive, live }: LiveSwitchProps) {
  const { range } = useRequestsSearch()
  const change = useRequestsChange()
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
      <SwitchField
        label="Live"
        checked={isLive}
        onChange={(isOn) => change(isOn ? { ...LIVE, ...movingRange(range) } : { live: undefined })}
        className="items-center"
      />
      <LiveMark live={live} />
    </div>
  )
}

const LIVE = { live: '1', order: undefined } as const

/** A period that is over does not live. */
function movingRange(range: string | undefined) {
  return range === 'custom' ? ({ range: '1h', from: undefined, to: undefined } as const) : {}
}

function LiveMark({ live: { connection, problem } }: Pick<LiveSwitchProps, 'live'>) {
  switch (connection) {
    case 'live':
      return (
        <StatusChip tone="good" icon={Radio}>
          Live
        </StatusChip>
      )
    case 'reconnecting':
      return (
        <StatusChip tone="warn" icon={RefreshCw}>
          Reconnecting…
        </StatusChip>
      )
    case 'failed':
      return (
        <span role="alert" className="flex min-w-0 flex-wrap items-center gap-2 text-sm text-soft">
          <StatusChip tone="bad" icon={CircleX}>
            Not live
          </StatusChip>
          {problem?.message}
        </span>
      )
    default:
      return null
  }
}
