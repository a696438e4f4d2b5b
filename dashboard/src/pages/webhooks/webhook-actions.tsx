/** What can be done with an endpoint. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Ban, Ellipsis, KeyRound, Pencil, Play, Send, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { problemOf } from '../../api/problem.ts'
import { toast } from '../../ui/announcer.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { Menu } from '../../ui/choices.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { EditDialog } from './edit-dialog.tsx'
import { changeWebhook, renewWebhooks, type Webhook } from './queries.ts'
import { RotateDialog } from './rotate-dialog.tsx'

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
      disabled={webhook.status === 'disabled'}
      title={webhook.status === 'disabled' ? 'Enable it first' : undefined}
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
        What happens from now on is not sent to it, also not later. What is pending fails at its next attempt, and can
        be sent again once it is enabled.
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
        <span className="break-all text-ink">{webhook.url}</span> gets nothing more, what is pending is never sent, and
        the log of its deliveries goes with it. This cannot be undone.
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
