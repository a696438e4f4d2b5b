/** What can be done with an endpoint. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Ban, Ellipsis, KeyRound, Pencil, Play, Send, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { problemOf } from '../../api/problem.ts'
import { toast } from '../../ui/announcer.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx'
import { Form } from '../../ui/form/form.tsx'
import { RadioGroupField } from '../../ui/form/toggle-fields.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Time } from '../../ui/values.tsx'
import { changeWebhook, renewWebhooks, type Webhook, type WebhookWithSecret } from './queries.ts'
import { bodyOf, missingOf, NewSecret, SavedButton, type WebhookDraft, WebhookFields } from './webhook-fields.tsx'

export interface WebhookActionsProps {
  readonly webhook: Webhook
  /** With the id of the delivery that is on its way. */
  readonly onTested: (deliveryId: string) => void
}

type Opened = 'edit' | 'rotate' | 'disable' | 'delete'

export function WebhookActions({ webhook, onTested }: WebhookActionsProps) {
  const [opened, setOpened] = useState<Opened>()
  const isEnabled = webhook.status === 'enabled'
  const enable = useEnable(webhook)
  const dialog = (name: Opened) => ({
    webhook,
    open: opened === name,
    onOpenChange: (next: boolean) => setOpened(next ? name : undefined),
  })
  return (
    <>
      <TestButton webhook={webhook} onTested={onTested} />
      <Menu
        label="More actions"
        trigger={<IconButton label="More actions" icon={Ellipsis} variant="secondary" />}
        items={[
          { label: 'Edit', icon: Pencil, onSelect: () => setOpened('edit') },
          { label: 'Rotate secret', icon: KeyRound, onSelect: () => setOpened('rotate') },
          isEnabled
            ? { label: 'Disable', icon: Ban, onSelect: () => setOpened('disable') }
            : { label: 'Enable', icon: Play, onSelect: enable },
          { label: 'Delete', icon: Trash2, danger: true, onSelect: () => setOpened('delete') },
        ]}
      />
      <EditDialog {...dialog('edit')} />
      <RotateDialog {...dialog('rotate')} />
      <DisableDialog {...dialog('disable')} />
      <DeleteDialog {...dialog('delete')} />
    </>
  )
}

/** Whichever events it gets: a `webhook.test`. */
export function TestButton({ webhook, onTested }: WebhookActionsProps) {
  const client = useQueryClient()
  const test = useMutation({
    mutationFn: () => take(api.POST('/v1/webhooks/{id}/test', { params: { path: { id: webhook.id } } })),
    onSuccess: ({ id }) => {
      onTested(id)
      return renewWebhooks(client)
    },
    onError: (error) => toast(problemOf(error).message, { tone: 'bad' }),
  })
  return (
    <Button
      icon={Send}
      pending={test.isPending}
      unavailable={webhook.status === 'disabled' ? 'Enable the endpoint first.' : undefined}
      onClick={() => test.mutate()}
    >
      Send test event
    </Button>
  )
}

interface OwnDialogProps {
  readonly webhook: Webhook
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

function DisableDialog({ webhook, open, onOpenChange }: OwnDialogProps) {
  const client = useQueryClient()
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={onOpenChange}
      title={`Disable ${new URL(webhook.url).host}?`}
      confirmLabel="Disable"
      danger
      onConfirm={async () => {
        await changeWebhook(client, webhook.id, { status: 'disabled' })
        toast('Disabled')
      }}
    >
      <p>
        It receives no further events. Pending deliveries fail at their next attempt; you can resend them after you
        enable it.
      </p>
    </ConfirmDialog>
  )
}

function DeleteDialog({ webhook, open, onOpenChange }: OwnDialogProps) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const { host } = new URL(webhook.url)
  const remove = async () => {
    await take(api.DELETE('/v1/webhooks/{id}', { params: { path: { id: webhook.id } } }))
    toast(`Webhook ${host} deleted`)
    await navigate({ to: '/webhooks' })
    void renewWebhooks(client)
  }
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={onOpenChange}
      title={`Delete webhook ${host}?`}
      confirmLabel="Delete webhook"
      danger
      typeToConfirm={host}
      onConfirm={remove}
    >
      <p>
        <span className="break-all text-ink">{webhook.url}</span> receives no further events. Its pending deliveries and
        its log are deleted. This cannot be undone.
      </p>
    </ConfirmDialog>
  )
}

function useEnable(webhook: Webhook): () => void {
  const client = useQueryClient()
  const { mutate } = useMutation({
    mutationFn: () => changeWebhook(client, webhook.id, { status: 'enabled' }),
    onSuccess: () => toast('Enabled'),
    onError: (error) => toast(problemOf(error).message, { tone: 'bad' }),
  })
  return () => mutate()
}

interface EditDialogProps {
  readonly webhook: Webhook
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

function EditDialog({ webhook, open, onOpenChange }: EditDialogProps) {
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
    <Form onSubmit={save} submitLabel="Save" onCancel={onDone} missing={missingOf(draft)}>
      <WebhookFields draft={draft} onChange={setDraft} />
      <p className="text-sm text-soft">Pending deliveries go to the new address.</p>
    </Form>
  )
}

function draftOf({ url, events, description }: Webhook): WebhookDraft {
  return { url, scope: events === null ? 'all' : 'chosen', chosen: events ?? [], description }
}

interface RotateDialogProps {
  readonly webhook: Webhook
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

/** Rotates the secret: first the grace period of the old one, then the new one. */
function RotateDialog({ webhook, open, onOpenChange }: RotateDialogProps) {
  const [made, setMade] = useState<WebhookWithSecret>()
  const close = () => {
    setMade(undefined)
    onOpenChange(false)
  }
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => !next && close()}
      persistent={made !== undefined}
      title={made === undefined ? 'Rotate secret' : 'Secret rotated'}
      description={made === undefined ? OVERLAP : undefined}
      footer={made && <SavedButton onClick={close} />}
    >
      {made === undefined ? (
        <RotateForm webhook={webhook} onMade={setMade} onCancel={close} />
      ) : (
        <Rotated made={made} />
      )}
    </Dialog>
  )
}

const OVERLAP = 'While both secrets are valid, each request carries a signature of each.'

/** Seconds. */
const OVERLAPS = { day: 86_400, hour: 3_600, none: 0 } as const
type Overlap = keyof typeof OVERLAPS

const OPTIONS = [
  { value: 'day', label: 'For 24 hours', description: 'Time to update all receivers.' },
  { value: 'hour', label: 'For 1 hour' },
  {
    value: 'none',
    label: 'Expire now',
    description: 'If the secret leaked. Deliveries fail and are retried until receivers have the new one.',
  },
] as const

interface RotateFormProps {
  readonly webhook: Webhook
  readonly onMade: (made: WebhookWithSecret) => void
  readonly onCancel: () => void
}

function RotateForm({ webhook, onMade, onCancel }: RotateFormProps) {
  const [overlap, setOverlap] = useState<Overlap>('day')
  const client = useQueryClient()
  const rotate = async () => {
    const params = { path: { id: webhook.id } }
    const body = { overlap: OVERLAPS[overlap] }
    onMade(await take(api.POST('/v1/webhooks/{id}/rotate_secret', { params, body })))
    void renewWebhooks(client)
  }
  return (
    <Form onSubmit={rotate} submitLabel="Rotate secret" onCancel={onCancel} danger={overlap === 'none'}>
      <RadioGroupField
        label="Keep the old secret valid"
        name="overlap"
        value={overlap}
        onChange={setOverlap}
        options={OPTIONS}
      />
    </Form>
  )
}

function Rotated({ made }: { readonly made: WebhookWithSecret }) {
  const until = made.previous_secret_expires_at
  return (
    <div className="flex flex-col gap-4">
      <NewSecret secret={made.secret} />
      <p className="text-soft">
        {until === null ? (
          'The old secret is no longer valid.'
        ) : (
          <>
            The old secret is valid until <Time iso={until} />.
          </>
        )}
      </p>
    </div>
  )
}
