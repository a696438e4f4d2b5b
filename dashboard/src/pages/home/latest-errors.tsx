import { useQuery } from '@tanstack/react-query'
import { CircleCheck } from 'lucide-react'
import { plural } from '../../lib/format.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Loaded, Skeleton } from '../../ui/states.tsx'
import { CompletionStatus } from '../../ui/status.tsx'
import { Time } from '../../ui/values.tsx'
import { type Cause, causesOf } from './causes.ts'
import { Panel, PanelHead } from './panel.tsx'
import { type Completion, latestErrorsQuery } from './queries.ts'

const ALL_FAILED = { to: '/requests', search: { status: 'failed', range: '30d' }, label: 'All failed requests' }

export function LatestErrors() {
  const errors = useQuery(latestErrorsQuery)
  return (
    <Panel>
      <PanelHead id="latest-errors" title="Latest errors" more={ALL_FAILED} />
      <Loaded query={errors} what="the latest errors" skeleton={<Skeleton className="mx-4 mb-4 h-32" />}>
        {(completions) => (completions.length === 0 ? <NoErrors /> : <Rows completions={completions} />)}
      </Loaded>
    </Panel>
  )
}

function NoErrors() {
  return (
    <p className="flex items-center gap-2 px-4 pb-4 text-soft">
      <CircleCheck aria-hidden className="size-4 text-good" />
      No failed requests.
    </p>
  )
}

function Rows({ completions }: { readonly completions: readonly Completion[] }) {
  return (
    <ul aria-labelledby="latest-errors" className="divide-y divide-line border-t border-line">
      {causesOf(completions).map((cause) => (
        <CauseRow key={`${cause.newest.status} ${cause.text}`} cause={cause} />
      ))}
    </ul>
  )
}

/** Leads to the newest request of its cause. */
function CauseRow({ cause: { text, newest, count, models } }: { readonly cause: Cause }) {
  const { id, status, created_at: createdAt, attempt_log: attempts } = newest
  const { message } = attempts.at(-1) ?? {}
  return (
    <li className="linked-row flex min-h-11 flex-wrap items-center gap-x-3 gap-y-0.5 px-4 py-1.5 last:rounded-b-xl hover:bg-hover">
      <span className="w-28 shrink-0">
        <CompletionStatus status={status} />
      </span>
      <div className="min-w-0 flex-1 basis-24">
        <AppLink
          to="/requests"
          search={{ request: id }}
          className="row-link block truncate font-medium text-ink"
          title={text}
        >
          {text}
        </AppLink>
        <span className="block text-xs break-words text-soft">
          <span className="tabular-nums">{plural(count, 'request')}</span>, last <Time iso={createdAt} relative />:{' '}
          {models.join(', ')}
        </span>
        {message !== undefined && (
          <span className="block truncate text-xs text-soft" title={message}>
            “{message}”
          </span>
        )}
      </div>
    </li>
  )
}
