/** Cells of the lists of requests: short, with all of it in the title. */
import { formatDateTime } from '../../lib/time.ts'
import { useTimeZone } from '../../ui/time-zone.ts'

export function Short({ text, className }: { readonly text: string; readonly className: string }) {
  return (
    <span className={`block truncate ${className}`} title={text}>
      {text}
    </span>
  )
}

/** Without the year, which the title has: what is listed is of the last days. */
export function ShortTime({ iso }: { readonly iso: string }) {
  const zone = useTimeZone()
  const parts = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
  const options = { ...parts, hourCycle: 'h23', ...(zone === 'utc' && { timeZone: 'UTC' }) } as const
  return (
    <time dateTime={iso} title={formatDateTime(iso, 'utc')} className="whitespace-nowrap tabular-nums">
      {new Intl.DateTimeFormat('en-US', options).format(Date.parse(iso))}
    </time>
  )
}
