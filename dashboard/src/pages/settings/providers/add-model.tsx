/** Adds a model of a provider, with its price: what the catalogue does not have. */
import { useState } from 'react'
import { toast } from '../../../ui/announcer.tsx'
import { NumberField, TextField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { useProviderActions } from './settings-queries.ts'

const EMPTY = {
  model: '',
  id: '',
  inputUsd: undefined as number | undefined,
  outputUsd: undefined as number | undefined,
}

export function AddModelForm({ provider }: { readonly provider: string }) {
  const { addModel } = useProviderActions()
  const [draft, setDraft] = useState(EMPTY)
  const set = (changes: Partial<typeof EMPTY>) => setDraft({ ...draft, ...changes })
  const { model, id, inputUsd, outputUsd } = draft
  const shownId = id.trim() === '' ? `${provider}/${model.trim()}` : id.trim()
  const missing =
    model.trim() === ''
      ? 'Enter the name of the model.'
      : inputUsd === undefined || outputUsd === undefined
        ? 'Enter both prices; 0 for models of your own.'
        : undefined
  return (
    <Form
      submitLabel="Add model"
      missing={missing}
      onSubmit={async () => {
        if (inputUsd === undefined || outputUsd === undefined) return
        await addModel({ id: shownId, provider, model: model.trim(), inputUsd, outputUsd })
        toast(`“${shownId}” can be used`)
        setDraft(EMPTY)
      }}
    >
      <TextField
        label="Model"
        name="model"
        description="The provider’s own name of it."
        mono
        required
        value={model}
        onChange={(value) => set({ model: value })}
      />
      <TextField
        label="ID for clients"
        name="id"
        mono
        placeholder={model.trim() === '' ? `${provider}/…` : shownId}
        value={id}
        onChange={(value) => set({ id: value })}
      />
      <div className="grid gap-5 sm:grid-cols-2">
        <NumberField
          label="Input price"
          name="input"
          prefix="$"
          suffix="/M tokens"
          min={0}
          required
          value={inputUsd}
          onChange={(value) => set({ inputUsd: value })}
        />
        <NumberField
          label="Output price"
          name="output"
          prefix="$"
          suffix="/M tokens"
          min={0}
          required
          value={outputUsd}
          onChange={(value) => set({ outputUsd: value })}
        />
      </div>
    </Form>
  )
}
