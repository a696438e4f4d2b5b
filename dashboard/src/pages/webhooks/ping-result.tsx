/** What became of the event that a new endpoint is sent. */
import { useQuery } from '@tanstack/react-query'
import { CircleCheck, CircleX } from 'lucide-react'
import { Spinner } from '../../ui/button.tsx'
import { Failed } from '../../ui/states.tsx'
import { Time } from '../../ui/values.tsx'
import { outcomeOf, reasonOf } from './attempt-words.ts'
import { type Delivery, firstDeliveryQuery } from './queries.ts'

const LOOK_EVERY_MS = 2_000

export function PingResult({ webhookId }: { readonly webhookId: string }) {
  const query = useQuery({
    ...firstDeliveryQuery(webhookId),
    refetchInterval: ({ state }) => (isTried(state.data) ? false : LOOK_EVERY_MS),
  })
  if (query.data === undefined && query.error !== null) {
    return <Failed error={query.error} what="the test’s result" onRetry={() => void query.refetch()} className="py-4" />
  }
  return (
    <div role="status" className="rounded-lg border border-line px-3 py-2.5">
      {query.data && isTried(query.data) ? <Result delivery={query.data} /> : <Waiting />}
    </div>
  )
}

function Waiting() {
  return (
    <p className="flex items-center gap-2 text-soft">
      <Spinner /> Sending <code className="font-mono text-sm">webhook.test</code>…
    </p>
  )
}

function Result({ delivery }: { readonly delivery: Delivery }) {
  const attempt = delivery.attempts.at(-1)
  const error = attempt?.error ?? delivery.error
  const outcome = attempt === undefined ? '' : `: ${outcomeOf(attempt)}`
  if (error === null) {
    return (
      <p className="flex items-start gap-2 text-ink">
        <CircleCheck aria-hidden className="mt-0.5 size-4 shrink-0 text-good" />
        <span className="min-w-0 break-words tabular-nums">webhook.test delivered{outcome}</span>
      </p>
    )
  }
  return (
    <div className="flex items-start gap-2">
      <CircleX aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0 break-words">
        <p className="text-ink tabular-nums">webhook.test not delivered{outcome}</p>
        <p className="text-soft">
          {reasonOf(error)}{' '}
          {delivery.next_attempt_at !== null && (
            <>
              The next attempt is <Time iso={delivery.next_attempt_at} relative />.
            </>
          )}
        </p>
      </div>
    </div>
  )
}

function isTried(delivery: Delivery | null | undefined): boolean {
  return delivery !== null && delivery !== undefined && (delivery.attempts.length > 0 || delivery.status !== 'pending')
}
