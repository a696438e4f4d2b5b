import { useState } from 'react'
import { MAX_NAME_LENGTH, MAX_VIEWS, readViewName, type ViewSearch, withView } from '../lib/saved-views.ts'
import { toast } from './announcer.tsx'
import { Dialog } from './dialog.tsx'
import { TextField } from './field.tsx'
import { Form } from './form.tsx'
import { changeSavedViews, useSavedViews, type ViewsPlace } from './saved-views-store.ts'

interface SaveViewProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly place: ViewsPlace
  readonly search: ViewSearch
  readonly words: string
}

export function SaveView({ open, onClose, ...rest }: SaveViewProps) {
  return (
    <Dialog
      size="sm"
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Save this view"
      description="Its filters and its period, in this browser alone. A period such as the last 24 hours moves with time."
    >
      <NameForm {...rest} onClose={onClose} />
    </Dialog>
  )
}

/** Within the dialog, so that each opening begins anew. */
function NameForm({ place, search, words, onClose }: Omit<SaveViewProps, 'open'>) {
  const views = useSavedViews(place)
  const [text, setText] = useState(() => readViewName(words) ?? '')
  const name = readViewName(text)
  const isThere = views.some((view) => view.name === name)
  const isFull = views.length >= MAX_VIEWS && !isThere
  const save = async () => {
    if (name === undefined) return
    changeSavedViews(place, (there) => withView(there, { name, search }))
    toast(isThere ? `View replaced: ${name}` : `View saved: ${name}`)
    onClose()
  }
  return (
    <Form
      onSubmit={save}
      submitLabel={isThere ? 'Replace view' : 'Save view'}
      onCancel={onClose}
      disabled={name === undefined || isFull}
    >
      <div>
        <TextField
          label="Name"
          value={text}
          onChange={setText}
          maxLength={MAX_NAME_LENGTH}
          autoComplete="off"
          required
          error={isFull ? `There are ${MAX_VIEWS} views, which is the most. Remove one first.` : undefined}
        />
        <p role="status" className="text-sm text-soft not-empty:mt-2">
          {isThere && 'A view has this name already. Saving replaces it.'}
        </p>
      </div>
    </Form>
  )
}
