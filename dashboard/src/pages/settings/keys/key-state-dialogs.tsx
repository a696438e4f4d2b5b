/** Rotating and disabling a key, each with its effect before it is done. */
import { useState } from 'react'
import { toast } from '../../../ui/announcer.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { SelectField } from '../../../ui/form/select-field.tsx'
import { type CreatedKey, type Key, useKeyActions } from './queries.ts'

const OVERLAPS = [
  { value: '0', label: 'Ends at once' },
  { value: '3600', label: 'Valid for 1 hour' },
  { value: '86400', label: 'Valid for 24 hours' },
  { value: '604800', label: 'Valid for 7 days' },
  { value: '2592000', label: 'Valid for 30 days' },
] as const
type Overlap = (typeof OVERLAPS)[number]['value']

interface KeyDialogProps {
  /** Undefined: nothing is asked. */
  readonly target: Key | undefined
  readonly onClose: () => void
}

interface RotateKeyProps extends KeyDialogProps {
  readonly onRotated: (rotated: CreatedKey) => void
}

export function RotateKey({ target, onClose, onRotated }: RotateKeyProps) {
  const { rotate } = useKeyActions()
  const [overlap, setOverlap] = useState<Overlap>('86400')
  return (
    <ConfirmDialog
      open={target !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={`Rotate “${target?.name ?? ''}”?`}
      confirmLabel="Rotate key"
      onConfirm={async () => {
        if (target !== undefined) onRotated(await rotate(target.id, Number(overlap)))
      }}
    >
      <p>The key gets a new secret. Its limits, budgets and history stay.</p>
      <SelectField
        label={`Present secret …${target?.last4 ?? ''}`}
        value={overlap}
        onChange={setOverlap}
        options={OVERLAPS}
      />
    </ConfirmDialog>
  )
}

/** Only for disabling: enabling needs no question. */
export function DisableKey({ target, onClose }: KeyDialogProps) {
  const { change } = useKeyActions()
  return (
    <ConfirmDialog
      open={target !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={`Disable “${target?.name ?? ''}”?`}
      confirmLabel="Disable key"
      danger
      onConfirm={async () => {
        if (target === undefined) return
        await change(target.id, { disabled: true })
        toast(`“${target.name}” is disabled`)
      }}
    >
      <p>It and the keys that it created are rejected within a second, until you enable it again.</p>
    </ConfirmDialog>
  )
}
