import { Dialog } from '../../../ui/dialog.tsx'
import { bodyOf, NEW_KEY } from './draft.ts'
import { KeyForm } from './key-form.tsx'
import { type CreatedKey, useKeyActions } from './queries.ts'

interface CreateKeyProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly onCreated: (created: CreatedKey) => void
}

export function CreateKey({ open, onClose, onCreated }: CreateKeyProps) {
  const { create } = useKeyActions()
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Create an API key"
      description="Programs send it with every request. Give it what it needs, and no more."
    >
      <KeyForm
        initial={NEW_KEY}
        submitLabel="Create key"
        onSubmit={async (draft) => onCreated(await create(bodyOf(draft, Date.now())))}
        onCancel={onClose}
        autoFocus
      />
    </Dialog>
  )
}
