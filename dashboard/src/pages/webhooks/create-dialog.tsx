/** A new endpoint: the form, then the secret and what came of the first event. */
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Form } from '../../ui/form.tsx'
import { NewSecret, SavedButton } from './new-secret.tsx'
import { PingResult } from './ping-result.tsx'
import { renewWebhooks, type WebhookWithSecret } from './queries.ts'
import { bodyOf, EMPTY_DRAFT, isReady, WebhookFields } from './webhook-fields.tsx'

export interface CreateDialogProps {
  readonly open: boolean
  readonly onClose: () => void
}

export function CreateDialog({ open, onClose }: CreateDialogProps) {
  const [made, setMade] = useState<WebhookWithSecret>()
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
  readonly onMade: (made: WebhookWithSecret) => void
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
    <Form onSubmit={create} submitLabel="Add webhook" onCancel={onCancel} disabled={!isReady(draft)}>
      <WebhookFields draft={draft} onChange={setDraft} />
      <p className="text-sm text-soft">
        A <code className="font-mono">webhook.test</code> is sent to it at once, whichever events it gets.
      </p>
    </Form>
  )
}

function Made({ made }: { readonly made: WebhookWithSecret }) {
  return (
    <div className="flex flex-col gap-4">
      <NewSecret secret={made.secret} />
      <PingResult webhookId={made.id} />
    </div>
  )
}
