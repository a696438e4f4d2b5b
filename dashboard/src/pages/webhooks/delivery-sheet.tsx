/** One delivery: the event, every attempt, and sending it again. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { RotateCw } from 'lucide-react'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { problemOf } from '../../api/problem.ts'
import { lookAgainMs } from '../../lib/look-again.ts'
import { toast } from '../../ui/announcer.tsx'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { CopyableId } from '../../ui/copy.tsx'
import { Details } from '../../ui/details.tsx'
import { Sheet } from '../../ui/dialog.tsx'
import { Section } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { DeliveryStatus } from '../../ui/status.tsx'
import { Time } from '../../ui/values.tsx'
import { AttemptList } from './attempt-list.tsx'
import { reasonOf } from './attempt-words.ts'
import { type DeliveryWithPayload, deliveryQuery, renewWebhooks, type Webhook } from './queries.ts'
import { SentHeaders } from './sent-headers.tsx'

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
    refetchInterval: ({ state }) => (state.data === undefined ? false : lookAgainMs([state.data], Date.now())),
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
          { label: 'Event id', value: <CopyableId id={delivery.event_id} /> },
          { label: 'Delivery id', value: <CopyableId id={delivery.id} /> },
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
      toast('On its way again', { tone: 'info' })
      return renewWebhooks(client)
    },
    onError: (error) => toast(problemOf(error).message, { tone: 'bad' }),
  })
  const hindrance = hindranceOf(webhook, delivery)
  return (
    <>
      {hindrance !== undefined && <p className="mr-auto self-center text-sm text-soft">{hindrance}</p>}
      <Button
        variant="primary"
        icon={RotateCw}
        pending={resend.isPending}
        aria-disabled={hindrance !== undefined}
        className={hindrance === undefined ? undefined : 'opacity-50'}
        onClick={hindrance === undefined ? () => resend.mutate() : undefined}
      >
        Resend
      </Button>
    </>
  )
}

/** Why it cannot be sent again now. */
function hindranceOf(webhook: Webhook, delivery: DeliveryWithPayload): string | undefined {
  if (webhook.status === 'disabled') return 'The endpoint is disabled.'
  return delivery.status === 'pending' ? 'It is still being tried.' : undefined
}
