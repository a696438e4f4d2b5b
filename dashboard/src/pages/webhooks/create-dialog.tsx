/** A new endpoint: the form, then the secret and what came of the first event. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { CircleCheck, CircleX } from 'lucide-react'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { Spinner } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Failed } from '../../ui/states.tsx'
import { Time } from '../../ui/values.tsx'
import { outcomeOf, reasonOf } from './attempt-words.ts'
import { type CreatedWebhook, type Delivery, firstDeliveryQuery, renewWebhooks } from './queries.ts'
import { bodyOf, EMPTY_DRAFT, missingOf, NewSecret, SavedButton, WebhookFields } from './webhook-fields.tsx'

export interface CreateDialogProps {
  readonly open: boolean
  readonly onClose: () => void
}

export function CreateDialog({ open, onClose }: CreateDialogProps) {
  const [made, setMade] = useState<CreatedWebhook>()
  const navigate = useNavigate()
  const close = () => {
    if (made === undefined) onClose()
    else void navigate({ to: '/webhooks/$webhookId', params: { webhookId: made.id }, replace: true })
  }
  return (
    <Dialog
      open={open || made !== undefined}
      onOpenChange={(next) => !next && close()}
      persistent={made !== undefined}
      title={made === undefined ? 'Add webhook' : 'Webhook added'}
      description={made && <span className="break-all">{made.url}</span>}
      footer={made && <SavedButton onClick={close} />}
    >
      {made === undefined ? <CreateForm onMade={setMade} onCancel={close} /> : <Made made={made} />}
    </Dialog>
  )
}

interface CreateFormProps {
  readonly onMade: (made: CreatedWebhook) => void
  readonly onCancel: () => void
}

function CreateForm({ onMade, onCancel }: CreateFormProps) {
  const [draft, setDraft] = useState(EMPTY_DRAFT)
  const client = useQueryClient()
  const create = async () => {
    onMade(await take(api.POST('/v1/webhooks', { body: bodyOf(draft) })))
    void renewWebhooks(client)
  }
  return (
    <Form onSubmit={create} submitLabel="Add webhook" onCancel={onCancel} missing={missingOf(draft)}>
      <WebhookFields draft={draft} onChange={setDraft} />
      <p className="text-sm text-soft">
        A <code className="font-mono">webhook.test</code> is sent to it at once, whatever its events.
      </p>
    </Form>
  )
}

function Made({ made }: { readonly made: CreatedWebhook }) {
  return (
    <div className="flex flex-col gap-4">
      {made.secret !== undefined && <NewSecret secret={made.secret} />}
      <PingResult webhookId={made.id} />
    </div>
  )
}

const LOOK_EVERY_MS = 2_000

/** The result of the test event that a new endpoint receives. */
function PingResult({ webhookId }: { readonly webhookId: string }) {
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
