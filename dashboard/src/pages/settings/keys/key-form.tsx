import { useState } from 'react'
import { problemOf } from '../../../api/problem.ts'
import { Form } from '../../../ui/form.tsx'
import { isReady, type KeyDraft, type KeyLimits } from './draft.ts'
import { KeyFields } from './key-fields.tsx'

interface KeyFormProps {
  readonly initial: KeyDraft
  readonly original?: KeyLimits
  readonly submitLabel: string
  readonly onSubmit: (draft: KeyDraft) => Promise<void>
  readonly onCancel: () => void
  readonly autoFocus?: boolean
}

export function KeyForm({ initial, original, submitLabel, onSubmit, onCancel, autoFocus = false }: KeyFormProps) {
  const [draft, setDraft] = useState(initial)
  const [addressError, setAddressError] = useState<string>()
  const submit = async (): Promise<void> => {
    setAddressError(undefined)
    try {
      await onSubmit(draft)
    } catch (error) {
      const { param, message } = problemOf(error)
      if (param?.startsWith('ip_allowlist') === true) setAddressError(message) // it names one of the list
      throw error
    }
  }
  return (
    <Form onSubmit={submit} submitLabel={submitLabel} onCancel={onCancel} disabled={!isReady(draft)}>
      <KeyFields
        draft={draft}
        onChange={setDraft}
        original={original}
        addressError={addressError}
        autoFocus={autoFocus}
      />
    </Form>
  )
}
