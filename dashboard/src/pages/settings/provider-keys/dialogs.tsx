/** Dialogs that add, change and rotate a provider key. The key is never shown again. */
import { useState } from 'react'
import { toast } from '../../../ui/announcer.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { TextField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { SelectField } from '../../../ui/form/select-field.tsx'
import { SwitchField } from '../../../ui/form/toggle-fields.tsx'
import { type Credential, useCredentialActions, useKeyChoices, useProviderNames } from './queries.ts'

const SHORTEST_KEY = 8
/** Of the choices of API keys: none of them. */
const ALL = ''

interface AddDialogProps {
  readonly open: boolean
  readonly onClose: () => void
}

export function AddDialog({ open, onClose }: AddDialogProps) {
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Add provider key"
      description="The key is tested with one call, then stored encrypted. It is never shown again."
    >
      <AddForm onClose={onClose} />
    </Dialog>
  )
}

function AddForm({ onClose }: Pick<AddDialogProps, 'onClose'>) {
  const { add } = useCredentialActions()
  const [provider, setProvider] = useState('')
  const [apiKey, setApiKey] = useState('')
  const [name, setName] = useState('')
  const [keyId, setKeyId] = useState(ALL)
  const [fallback, setFallback] = useState(false)
  const submit = async () => {
    const body = { provider, api_key: apiKey.trim(), name, allow_fallback: fallback }
    report(await add({ ...body, ...(keyId !== ALL && { key_id: keyId }) }))
    onClose()
  }
  return (
    <Form
      onSubmit={submit}
      submitLabel="Test and add"
      onCancel={onClose}
      missing={provider === '' ? 'Choose a provider.' : missingKey(apiKey)}
    >
      <ProviderField value={provider} onChange={setProvider} />
      <KeyField value={apiKey} onChange={setApiKey} />
      <TextField label="Name" name="name" value={name} onChange={setName} maxLength={100} />
      <ScopeField value={keyId} onChange={setKeyId} />
      <FallbackField value={fallback} onChange={setFallback} />
    </Form>
  )
}

interface ValueProps<Value> {
  readonly value: Value
  readonly onChange: (value: Value) => void
}

function ProviderField(props: ValueProps<string>) {
  const { data = [] } = useProviderNames()
  const options = data.map((name) => ({ value: name, label: name }))
  return <SelectField label="Provider" name="provider" required options={options} {...props} />
}

function missingKey(apiKey: string): string | undefined {
  return apiKey.trim().length < SHORTEST_KEY ? `Enter the key: at least ${SHORTEST_KEY} characters.` : undefined
}

function KeyField(props: ValueProps<string>) {
  return (
    <TextField
      label="Key"
      name="api_key"
      type="password"
      autoComplete="off"
      spellCheck={false}
      mono
      required
      {...props}
    />
  )
}

function ScopeField(props: ValueProps<string>) {
  const { data = [] } = useKeyChoices()
  const options = [
    { value: ALL, label: 'All requests' },
    ...data.map(({ id, name }) => ({ value: id, label: `API key “${name}”` })),
  ]
  return (
    <SelectField
      label="Used for"
      name="key_id"
      description="The key of one API key also applies to the keys that it created."
      options={options}
      {...props}
    />
  )
}

function FallbackField({ value, onChange }: ValueProps<boolean>) {
  return (
    <SwitchField
      label="Fall back to the operator’s key"
      description="When this key is refused, limited or failing, requests go on at the full price."
      name="allow_fallback"
      checked={value}
      onChange={onChange}
    />
  )
}

interface TargetProps {
  /** Undefined: closed. */
  readonly target: Credential | undefined
  readonly onClose: () => void
}

export function EditDialog({ target, onClose }: TargetProps) {
  return (
    <Dialog
      open={target !== undefined}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Edit provider key"
      description={target && `${target.provider} …${target.last4}`}
    >
      {target !== undefined && <EditForm target={target} onClose={onClose} />}
    </Dialog>
  )
}

function EditForm({ target, onClose }: { readonly target: Credential; readonly onClose: () => void }) {
  const { change } = useCredentialActions()
  const [name, setName] = useState(target.name)
  const [fallback, setFallback] = useState(target.allow_fallback)
  const submit = async () => {
    await change(target.id, { name, allow_fallback: fallback })
    toast('Saved')
    onClose()
  }
  return (
    <Form onSubmit={submit} submitLabel="Save" onCancel={onClose}>
      <TextField label="Name" name="name" value={name} onChange={setName} maxLength={100} />
      <FallbackField value={fallback} onChange={setFallback} />
    </Form>
  )
}

export function RotateDialog({ target, onClose }: TargetProps) {
  return (
    <Dialog
      open={target !== undefined}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Rotate provider key"
      description={target && `The new key replaces …${target.last4} at ${target.provider} at once.`}
    >
      {target !== undefined && <RotateForm target={target} onClose={onClose} />}
    </Dialog>
  )
}

function RotateForm({ target, onClose }: { readonly target: Credential; readonly onClose: () => void }) {
  const { change } = useCredentialActions()
  const [apiKey, setApiKey] = useState('')
  const submit = async () => {
    report(await change(target.id, { api_key: apiKey.trim() }))
    onClose()
  }
  return (
    <Form onSubmit={submit} submitLabel="Test and rotate" onCancel={onClose} missing={missingKey(apiKey)}>
      <KeyField value={apiKey} onChange={setApiKey} />
    </Form>
  )
}

/** Says what came of the test of a stored key. */
function report({ provider, status }: Credential): void {
  if (status === 'verified') toast(`${provider} accepted the key`)
  else toast(`The key is stored, but ${provider} could not confirm it`, { tone: 'bad' })
}
