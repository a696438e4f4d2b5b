/** The settings of a provider that is stored in the database: key, address, weight, limit, whether it is used. */

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { InlineCommand } from '../../../ui/code.tsx'
import { ConfirmDialog, Sheet } from '../../../ui/dialog.tsx'
import { NumberField, TextField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { SwitchField } from '../../../ui/form/toggle-fields.tsx'
import { Notice } from '../../../ui/notice.tsx'
import { Loaded } from '../../../ui/states.tsx'
import { Details, Time } from '../../../ui/values.tsx'
import { AddModelForm } from './add-model.tsx'
import {
  type ProviderSettings,
  type StoredProvider,
  storedProviderQuery,
  useProviderActions,
} from './settings-queries.ts'

interface ProviderSheetProps {
  /** Undefined: closed. */
  readonly name: string | undefined
  readonly onClose: () => void
}

export function ProviderSheet({ name, onClose }: ProviderSheetProps) {
  return (
    <Sheet
      open={name !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={name ?? 'Provider'}
      description="Settings of the provider"
    >
      {name !== undefined && <Content name={name} onClose={onClose} />}
    </Sheet>
  )
}

function Content({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  return (
    <Loaded query={useQuery(storedProviderQuery(name))} what="this provider">
      {(stored) => (
        <div className="flex flex-col gap-6">
          {(stored === null || stored.overridden_by !== null) && <Overridden name={name} isStored={stored !== null} />}
          {stored !== null && <Facts stored={stored} />}
          {stored !== null && <Editing key={stored.version} stored={stored} onClose={onClose} />}
          <section aria-labelledby="add-model" className="flex flex-col gap-4 border-t border-line pt-5">
            <h3 id="add-model" className="text-lg font-semibold text-ink">
              Add a model
            </h3>
            <AddModelForm provider={name} />
          </section>
        </div>
      )}
    </Loaded>
  )
}

function Overridden({ name, isStored }: { readonly name: string; readonly isStored: boolean }) {
  return (
    <Notice tone="warn" title="Set in the configuration file or the environment">
      {isStored ? 'They have precedence over what is stored here, which is not in force. ' : 'Change it there. '}
      <InlineCommand command={`turnpike config explain providers.${name}`} /> shows where.
    </Notice>
  )
}

function Facts({ stored }: { readonly stored: StoredProvider }) {
  const keys = stored.api_keys.map(({ last4 }) => (last4 === '' ? 'stored' : `…${last4}`)).join(', ')
  return (
    <Details
      items={[
        { label: 'Key', value: keys === '' ? 'None' : keys },
        { label: 'Version', value: String(stored.version) },
        { label: 'Changed', value: <Time iso={stored.created_at} relative /> },
      ]}
    />
  )
}

type Settings = Readonly<Record<string, unknown>>

function Editing({ stored, onClose }: { readonly stored: StoredProvider; readonly onClose: () => void }) {
  const { store, test } = useProviderActions()
  const settings: Settings = { ...stored.settings }
  const [key, setKey] = useState('')
  const [url, setUrl] = useState(String(settings['base_url'] ?? ''))
  const [weight, setWeight] = useState(numberOf(settings['weight']))
  const [limit, setLimit] = useState(numberOf(settings['max_in_flight']))
  const [isUsed, setUsed] = useState(settings['disabled'] !== true)
  const submit = async () => {
    const changes = {
      base_url: url.trim() === '' ? null : url.trim(),
      weight: weight ?? null,
      max_in_flight: limit ?? null,
      disabled: isUsed ? null : true,
      ...(key.trim() !== '' && { api_key: key.trim(), api_keys: null }),
    }
    await store(stored.id, { ...settings, ...changes } as unknown as ProviderSettings)
    if (key.trim() !== '' && isUsed) {
      const { ok, message } = await test(stored.id)
      toast(message, { tone: ok ? 'good' : 'bad' })
    } else toast(`Saved “${stored.id}”`)
    onClose()
  }
  return (
    <section aria-labelledby="edit-provider" className="border-t border-line pt-5">
      <h3 id="edit-provider" className="mb-4 text-lg font-semibold text-ink">
        Edit
      </h3>
      <Form onSubmit={submit} submitLabel={key.trim() === '' ? 'Save changes' : 'Rotate key and test'}>
        <SwitchField
          label="In use"
          description="While it is not, models that no other provider has are not offered."
          name="used"
          checked={isUsed}
          onChange={setUsed}
        />
        <TextField
          label="New key"
          name="api_key"
          description="Replaces the stored key at once. Empty: it stays."
          type="password"
          autoComplete="off"
          spellCheck={false}
          mono
          value={key}
          onChange={setKey}
        />
        <TextField label="Address" name="base_url" type="url" mono value={url} onChange={setUrl} />
        <NumberField
          label="Weight"
          name="weight"
          description="Its share of the calls of models that several providers have, compared with theirs. Default: 1."
          min={0}
          value={weight}
          onChange={setWeight}
        />
        <NumberField
          label="Concurrency limit"
          name="max_in_flight"
          description="Most calls of one process at once. Empty: no limit."
          whole
          min={1}
          value={limit}
          onChange={setLimit}
        />
      </Form>
      <Removal name={stored.id} onClose={onClose} />
    </section>
  )
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function Removal({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const { remove } = useProviderActions()
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button size="sm" className="mt-4" onClick={() => setAsking(true)}>
        Remove this provider
      </Button>
      <ConfirmDialog
        open={isAsking}
        onOpenChange={setAsking}
        title={`Remove “${name}”?`}
        confirmLabel="Remove provider"
        danger
        onConfirm={async () => {
          await remove(name)
          toast(`“${name}” is removed`)
          onClose()
        }}
      >
        <p>Within a second no process calls it. Models that no other provider has are not offered.</p>
      </ConfirmDialog>
    </>
  )
}
