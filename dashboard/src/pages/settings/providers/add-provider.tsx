/** Adds a provider: choose, paste its key, test, and see its models. It is in force at once, and sealed in the database. */
import { useQuery } from '@tanstack/react-query'
import { CircleCheck } from 'lucide-react'
import { useState } from 'react'
import { modelsQuery } from '../../../api/models.ts'
import { plural } from '../../../lib/format.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button, LinkButton } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { TextField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { SelectField } from '../../../ui/form/select-field.tsx'
import { Notice } from '../../../ui/notice.tsx'
import { AddModelForm } from './add-model.tsx'
import type { Provider, ProviderTestResult } from './queries.ts'
import { type ProviderKind, type ProviderSettings, providerKindsQuery, useProviderActions } from './settings-queries.ts'

interface AddProviderProps {
  readonly open: boolean
  /** Whose names are taken. */
  readonly providers: readonly Provider[]
  readonly onClose: () => void
}

interface Added {
  readonly name: string
  readonly result: ProviderTestResult
}

export function AddProvider({ open, providers, onClose }: AddProviderProps) {
  const [added, setAdded] = useState<Added>()
  const close = () => {
    setAdded(undefined)
    onClose()
  }
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) close()
      }}
      title={added === undefined ? 'Add provider' : added.name}
      description={
        added === undefined
          ? 'The key is stored encrypted and never shown again. The provider is in use at once, without a restart.'
          : undefined
      }
    >
      {added === undefined ? (
        <AddForm taken={providers.map(({ name }) => name)} onAdded={setAdded} onClose={close} />
      ) : (
        <Outcome added={added} onAgain={() => setAdded(undefined)} onClose={close} />
      )}
    </Dialog>
  )
}

/** A server of the protocol that is not known by name. */
const OTHER: ProviderKind = {
  id: 'openai-compatible',
  object: 'provider_kind',
  name: 'Another OpenAI-compatible server',
  base_url: null,
  key_variable: null,
  settings: [],
  models: 0,
}

interface Draft {
  readonly kind: string
  readonly name: string
  readonly key: string
  readonly url: string
  readonly settings: Readonly<Record<string, string>>
}

const EMPTY: Draft = { kind: '', name: '', key: '', url: '', settings: {} }

interface AddFormProps {
  readonly taken: readonly string[]
  readonly onAdded: (added: Added) => void
  readonly onClose: () => void
}

function AddForm({ taken, onAdded, onClose }: AddFormProps) {
  const { data = [] } = useQuery(providerKindsQuery)
  const { store, test } = useProviderActions()
  const [draft, setDraft] = useState(EMPTY)
  const kinds = [...data.toSorted((a, b) => b.models - a.models), OTHER]
  const kind = kinds.find(({ id }) => id === draft.kind)
  const set = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes })
  const name = draft.name.trim()
  return (
    <Form
      submitLabel="Save and test"
      onCancel={onClose}
      missing={missingOf(draft, kind, taken)}
      onSubmit={async () => {
        if (kind === undefined) return
        await store(name, settingsOf(draft, kind))
        onAdded({ name, result: await test(name) })
      }}
    >
      <SelectField
        label="Provider"
        name="kind"
        required
        value={draft.kind}
        onChange={(id) => setDraft({ ...EMPTY, kind: id, name: freeName(id, taken) })}
        options={kinds.map(choiceOf)}
      />
      {kind !== undefined && <KindFields kind={kind} draft={draft} set={set} />}
    </Form>
  )
}

function choiceOf({ id, name, models }: ProviderKind) {
  return { value: id, label: name, description: models === 0 ? undefined : `${plural(models, 'model')} with prices` }
}

/** `openai`, or `openai-2` where that is taken. */
function freeName(id: string, taken: readonly string[]): string {
  const numbers = Array.from({ length: taken.length + 1 }, (_, index) => (index === 0 ? id : `${id}-${index + 1}`))
  return numbers.find((name) => !taken.includes(name)) ?? id
}

function missingOf({ name, key, url }: Draft, kind: ProviderKind | undefined, taken: readonly string[]) {
  if (kind === undefined) return 'Choose a provider.'
  if (kind.key_variable !== null && key.trim() === '') return 'Paste its key.'
  if (kind.base_url === null && url.trim() === '') return 'Enter its address.'
  if (name.trim() === '') return 'Enter a name.'
  return taken.includes(name.trim()) ? 'A provider of this name exists.' : undefined
}

function settingsOf({ name, key, url, settings }: Draft, kind: ProviderKind): ProviderSettings {
  const filled = Object.entries({ api_key: key, base_url: url, ...settings }).flatMap(([field, value]) =>
    value.trim() === '' ? [] : [[field, value.trim()]],
  )
  const dialect = kind === OTHER ? { protocol: 'openai' } : kind.id === name.trim() ? {} : { kind: kind.id }
  return { ...dialect, ...Object.fromEntries(filled) } as ProviderSettings
}

interface KindFieldsProps {
  readonly kind: ProviderKind
  readonly draft: Draft
  readonly set: (changes: Partial<Draft>) => void
}

function KindFields({ kind, draft, set }: KindFieldsProps) {
  return (
    <>
      <TextField
        label="Key"
        name="api_key"
        type="password"
        autoComplete="off"
        spellCheck={false}
        mono
        required={kind.key_variable !== null}
        value={draft.key}
        onChange={(key) => set({ key })}
      />
      <TextField
        label="Address"
        name="base_url"
        type="url"
        mono
        required={kind.base_url === null}
        placeholder={kind.base_url ?? 'https://models.example.com/v1'}
        value={draft.url}
        onChange={(url) => set({ url })}
      />
      {kind.settings.map((field) => (
        <TextField
          key={field}
          label={labelOf(field)}
          name={field}
          mono
          value={draft.settings[field] ?? ''}
          onChange={(value) => set({ settings: { ...draft.settings, [field]: value } })}
        />
      ))}
      <TextField
        label="Name"
        name="name"
        description="How the gateway calls it, in its configuration and reports."
        mono
        required
        maxLength={64}
        value={draft.name}
        onChange={(name) => set({ name })}
      />
    </>
  )
}

/** `api_version` → `Api version` */
function labelOf(field: string): string {
  const words = field.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

interface OutcomeProps {
  readonly added: Added
  readonly onAgain: () => void
  readonly onClose: () => void
}

function Outcome({ added: { name, result }, onAgain, onClose }: OutcomeProps) {
  const { remove } = useProviderActions()
  const removeIt = async () => {
    await remove(name)
    toast(`“${name}” is removed`)
    onAgain()
  }
  if (!result.ok) {
    return (
      <Notice
        tone="bad"
        title={result.message}
        action={
          <span className="flex flex-wrap gap-2">
            <Button onClick={onClose}>Keep it</Button>
            <Button variant="primary" onClick={() => void removeIt()}>
              Remove and try again
            </Button>
          </span>
        }
      >
        The provider is stored and in use. Remove it, or keep it and change its settings later.
      </Notice>
    )
  }
  return (
    <div className="flex flex-col gap-5">
      <p className="flex items-start gap-2 text-ink">
        <CircleCheck aria-hidden className="mt-0.5 size-4 shrink-0 text-good" />
        {result.message}
      </p>
      <ItsModels name={name} />
      <div className="flex flex-wrap justify-end gap-2">
        <LinkButton to="/playground">Open the Playground</LinkButton>
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </div>
  )
}

const MOST_SHOWN = 12

function ItsModels({ name }: { readonly name: string }) {
  const { data, isFetching } = useQuery(modelsQuery)
  const models = (data ?? []).filter(({ providers }) => providers.some((each) => each.name === name))
  if (models.length === 0 && isFetching) return <p className="text-soft">Reading its models…</p>
  if (models.length === 0) {
    return (
      <section aria-labelledby="add-model" className="flex flex-col gap-3">
        <h3 id="add-model" className="font-semibold text-ink">
          Add its first model
        </h3>
        <p className="text-soft">
          The catalogue has no prices of this provider. Add the models that you want to offer.
        </p>
        <AddModelForm provider={name} />
      </section>
    )
  }
  return (
    <section aria-labelledby="its-models" className="flex flex-col gap-2">
      <h3 id="its-models" className="font-semibold text-ink">
        {plural(models.length, 'model')}
      </h3>
      <ul className="flex flex-wrap gap-1.5">
        {models.slice(0, MOST_SHOWN).map(({ id }) => (
          <li key={id} className="rounded-md border border-line bg-sunken px-2 py-0.5 font-mono text-sm break-all">
            {id}
          </li>
        ))}
        {models.length > MOST_SHOWN && <li className="text-soft">and {models.length - MOST_SHOWN} more</li>}
      </ul>
    </section>
  )
}
