/** One delivery: the event, every attempt, and sending it again. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { CircleCheck, CircleX, RotateCw } from 'lucide-react'
import { useId, useState } from 'react'
import { api, take } from '../../api/client.ts'
import { problemOf } from '../../api/problem.ts'
import { refreshIntervalMs } from '../../lib/refresh-interval.ts'
import { visibleText } from '../../lib/visible-text.ts'
import { toast } from '../../ui/announcer.tsx'
import { Button, Spinner } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { CopyableId } from '../../ui/copy.tsx'
import { Sheet } from '../../ui/dialog.tsx'
import { Section } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { DeliveryStatus } from '../../ui/status.tsx'
import { Details, Time } from '../../ui/values.tsx'
import { outcomeOf, reasonOf } from './attempt-words.ts'
import {
  type Attempt,
  type Delivery,
  type DeliveryWithPayload,
  deliveryQuery,
  renewWebhooks,
  type Webhook,
} from './queries.ts'

export interface DeliverySheetProps {
  readonly webhook: Webhook
  /** Undefined: none is looked at. */
  readonly id: string | undefined
  readonly onClose: () => void
}

export function DeliverySheet({ webhook, id, onClose }: DeliverySheetProps) {
  const [lastId, setLastId] = useState(id)
  if (id !== undefined && id !== lastId) setLastId(id) // what is shown while the sheet goes away
  const shownId = id ?? lastId
  const query = useQuery({
    ...deliveryQuery(webhook.id, shownId ?? ''),
    enabled: id !== undefined,
    refetchInterval: ({ state }) => (state.data === undefined ? false : refreshIntervalMs([state.data], Date.now())),
  })
  const delivery = query.data
  return (
    <Sheet
      open={id !== undefined}
      onOpenChange={(next) => !next && onClose()}
      title={delivery?.type ?? 'Delivery'}
      description={delivery && <Heading delivery={delivery} />}
      footer={delivery && <ResendButton webhook={webhook} delivery={delivery} />}
    >
      <Loaded query={query} what="this delivery">
        {(loaded) => <Shown delivery={loaded} />}
      </Loaded>
    </Sheet>
  )
}

function Heading({ delivery }: { readonly delivery: DeliveryWithPayload }) {
  return (
    <span role="status" className="flex flex-wrap items-center gap-2">
      <DeliveryStatus status={delivery.status} />
      {delivery.status === 'pending' && delivery.attempts.length > 0 && (
        <span>
          next attempt <Time iso={delivery.next_attempt_at} relative />
        </span>
      )}
    </span>
  )
}

function Shown({ delivery }: { readonly delivery: DeliveryWithPayload }) {
  const { attempts, error } = delivery
  return (
    <div className="flex flex-col gap-6">
      <Details
        items={[
          { label: 'Event ID', value: <CopyableId id={delivery.event_id} /> },
          { label: 'Delivery ID', value: <CopyableId id={delivery.id} /> },
          { label: 'Created', value: <Time iso={delivery.created_at} /> },
          ...(delivery.ended_at === null ? [] : [{ label: 'Ended', value: <Time iso={delivery.ended_at} /> }]),
          ...(error !== null && attempts.at(-1)?.error !== error ? [{ label: 'Why', value: reasonOf(error) }] : []),
        ]}
      />
      <Section title="Attempts">
        <AttemptList delivery={delivery} />
      </Section>
      <Section title="Request">
        <div className="flex flex-col gap-3">
          <SentHeaders delivery={delivery} />
          <CodeBlock
            code={JSON.stringify(delivery.payload, null, 2)}
            language="Body, JSON"
            label="Body of the request"
          />
        </div>
      </Section>
    </div>
  )
}

interface ResendButtonProps {
  readonly webhook: Webhook
  readonly delivery: DeliveryWithPayload
}

function ResendButton({ webhook, delivery }: ResendButtonProps) {
  const client = useQueryClient()
  const resend = useMutation({
    mutationFn: () => {
      const path = { id: webhook.id, delivery_id: delivery.id }
      return take(api.POST('/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver', { params: { path } }))
    },
    onSuccess: () => {
      toast('Queued again', { tone: 'info' })
      return renewWebhooks(client)
    },
    onError: (error) => toast(problemOf(error).message, { tone: 'bad' }),
  })
  const hindrance = hindranceOf(webhook, delivery)
  const hindranceId = useId()
  return (
    <>
      {hindrance !== undefined && (
        <p id={hindranceId} className="mr-auto self-center text-sm text-soft">
          {hindrance}
        </p>
      )}
      <Button
        variant="primary"
        icon={RotateCw}
        pending={resend.isPending}
        unavailable={hindrance}
        aria-describedby={hindrance === undefined ? undefined : hindranceId}
        onClick={() => resend.mutate()}
      >
        Resend
      </Button>
    </>
  )
}

/** Why it cannot be sent again now. */
function hindranceOf(webhook: Webhook, delivery: DeliveryWithPayload): string | undefined {
  if (webhook.status === 'disabled') return 'The endpoint is disabled.'
  return delivery.status === 'pending' ? 'Attempts are still pending.' : undefined
}

/** The newest first, with what is to come above them. */
function AttemptList({ delivery }: { readonly delivery: Delivery }) {
  const { attempts, status, next_attempt_at: next } = delivery
  if (attempts.length === 0 && status !== 'pending') return <p className="text-soft">No attempts.</p>
  return (
    <ol aria-label="Attempts, newest first" className="flex flex-col gap-4">
      {status === 'pending' && (
        <li className="flex items-center gap-2 text-soft">
          <Spinner />
          {attempts.length === 0 ? (
            'The first attempt is in progress.'
          ) : (
            <span>
              The next attempt is <Time iso={next} relative />.
            </span>
          )}
        </li>
      )}
      {attempts.toReversed().map((attempt) => (
        <AttemptItem key={attempt.number} attempt={attempt} />
      ))}
    </ol>
  )
}

function AttemptItem({ attempt }: { readonly attempt: Attempt }) {
  const { number, at, error, response_body: answer } = attempt
  const Icon = error === null ? CircleCheck : CircleX
  return (
    <li className="flex items-start gap-2">
      <Icon aria-hidden className={`mt-0.5 size-4 shrink-0 ${error === null ? 'text-good' : 'text-bad'}`} />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-baseline justify-between gap-x-3">
          <span className="font-medium text-ink tabular-nums">
            {number}. {error === null ? 'Delivered' : 'Failed'}: {outcomeOf(attempt)}
          </span>
          <span className="text-sm text-soft">
            <Time iso={at} />
          </span>
        </div>
        {error !== null && <p className="break-words text-soft">{reasonOf(error)}</p>}
        {answer !== null && answer !== '' && (
          <CodeBlock
            code={visibleText(answer)}
            language="Response, first 4 KiB"
            label={`Response to attempt ${number}`}
            maxHeight="14rem"
            className="mt-2"
          />
        )}
      </div>
    </li>
  )
}

/** Those of the newest attempt; the signatures, which are made for each, are not kept. */
function SentHeaders({ delivery }: { readonly delivery: Delivery }) {
  const last = delivery.attempts.at(-1)
  if (last === undefined) return null
  const lines = [
    'content-type: application/json',
    `webhook-id: ${delivery.event_id}`,
    `webhook-timestamp: ${Math.floor(Date.parse(last.at) / 1000)}`,
    'webhook-signature: v1,… (made for each attempt, not kept)',
    'turnpike-signature: … (not kept)',
  ]
  return (
    <CodeBlock code={lines.join('\n')} language="Headers of the last attempt" label="Headers of the last attempt" />
  )
}
