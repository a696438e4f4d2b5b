import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { toast } from '../../ui/announcer.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Form } from '../../ui/form.tsx'
import { changeWebhook, type Webhook } from './queries.ts'
import { bodyOf, isReady, type WebhookDraft, WebhookFields } from './webhook-fields.tsx'

export interface EditDialogProps {
  readonly webhook: Webhook
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

export function EditDialog({ webhook, open, onOpenChange }: EditDialogProps) {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="Edit webhook">
      <EditForm webhook={webhook} onDone={() => onOpenChange(false)} />
    </Dialog>
  )
}

function EditForm({ webhook, onDone }: { readonly webhook: Webhook; readonly onDone: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(webhook))
  const client = useQueryClient()
  const save = async () => {
    const { url, ...others } = bodyOf(draft)
    // (an address that is sent, also the same one, begins without failures)
    await changeWebhook(client, webhook.id, url === webhook.url ? others : { url, ...others })
    toast('Saved')
    onDone()
  }
  return (
    <Form onSubmit={save} submitLabel="Save" onCancel={onDone} disabled={!isReady(draft)}>
      <WebhookFields draft={draft} onChange={setDraft} />
      <p className="text-sm text-soft">What is on its way already goes to the new address.</p>
    </Form>
  )
}

function draftOf({ url, events, description }: Webhook): WebhookDraft {
  return { url, scope: events === null ? 'all' : 'chosen', chosen: events ?? [], description }
}
