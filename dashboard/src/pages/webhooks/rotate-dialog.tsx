/** A new secret: first how long the old one stays good, then the new one. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { RadioGroupField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Time } from '../../ui/values.tsx'
import { NewSecret, SavedButton } from './new-secret.tsx'
import { renewWebhooks, type Webhook, type WebhookWithSecret } from './queries.ts'

export interface RotateDialogProps {
  readonly webhook: Webhook
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

export function RotateDialog({ webhook, open, onOpenChange }: RotateDialogProps) {
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

const OVERLAP =
  'While both secrets are good, each request has a signature of each, and receivers go on working with either.'

/** Seconds. */
const OVERLAPS = { day: 86_400, hour: 3_600, none: 0 } as const
type Overlap = keyof typeof OVERLAPS

const OPTIONS = [
  { value: 'day', label: 'For 24 hours', description: 'Time to give the new one to all receivers.' },
  { value: 'hour', label: 'For 1 hour' },
  {
    value: 'none',
    label: 'No longer',
    description: 'If it has leaked. Requests fail, and are retried, until receivers have the new one.',
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
        label="The old secret stays good"
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
          'The old secret signs nothing more.'
        ) : (
          <>
            The old secret signs as well until <Time iso={until} />. It ends by itself.
          </>
        )}
      </p>
    </div>
  )
}
