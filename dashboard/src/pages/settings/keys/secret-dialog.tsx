/** The secret of a new key: shown this once, and not taken away by accident. */
import { useBlocker } from '@tanstack/react-router'
import { useState } from 'react'
import { chatSamples } from '../../../lib/code-samples.ts'
import { plural } from '../../../lib/format.ts'
import { relativeTime } from '../../../lib/time.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { CodeBlock, CodeTabs } from '../../../ui/code.tsx'
import { CopyButton } from '../../../ui/copy.tsx'
import { ConfirmDialog, Dialog } from '../../../ui/dialog.tsx'
import { CheckboxField } from '../../../ui/form/toggle-fields.tsx'
import { useNow } from '../../../ui/time-zone.ts'
import { type CreatedKey, type Key, useKey, useKeyActions, useModelChoices } from './queries.ts'

interface SecretDialogProps {
  /** Undefined: there is nothing to show. */
  readonly created: CreatedKey | undefined
  readonly onClose: () => void
}

export function SecretDialog({ created, onClose }: SecretDialogProps) {
  const [isAsking, setAsking] = useState(false)
  const blocked = useBlocker({
    shouldBlockFn: () => created !== undefined,
    enableBeforeUnload: () => created !== undefined,
    withResolver: true,
  })
  const isLeaving = blocked.status === 'blocked'
  const finish = () => {
    setAsking(false)
    onClose()
  }
  return (
    <>
      <Dialog
        open={created !== undefined}
        onOpenChange={(open) => {
          if (!open) setAsking(true)
        }}
        title="Save your key now"
        description={`The secret of “${created?.name ?? ''}” is shown only this once.`}
        footer={
          <Button
            variant="primary"
            onClick={() => {
              toast(`“${created?.name ?? ''}” is ready to use`)
              finish()
            }}
          >
            I have saved it
          </Button>
        }
      >
        {created !== undefined && <Secret created={created} />}
      </Dialog>
      <ConfirmDialog
        open={isAsking || isLeaving}
        onOpenChange={(open) => {
          if (open) return
          setAsking(false)
          blocked.reset?.()
        }}
        title="Close without saving the key?"
        confirmLabel="Close"
        danger
        onConfirm={async () => {
          finish()
          blocked.proceed?.()
        }}
      >
        <p>The key cannot be shown again. If you lose it, revoke it and create another.</p>
      </ConfirmDialog>
    </>
  )
}

function Secret({ created }: { readonly created: CreatedKey }) {
  const root = `${location.origin}/v1`
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-center gap-2 rounded-lg border border-line bg-sunken py-2 pr-2 pl-3">
        <code data-secret className="min-w-0 flex-1 font-mono text-sm break-all text-ink">
          {created.key}
        </code>
        <CopyButton text={created.key} label="Copy key" variant="primary" />
      </div>
      <div className="flex flex-col gap-2">
        <CodeBlock
          label="Lines for the .env of a client"
          language=".env"
          code={`OPENAI_API_KEY=${created.key}\nOPENAI_BASE_URL=${root}`}
        />
        <p className="text-sm text-soft">
          Clients of the OpenAI API read this key as <code className="font-mono text-ink">OPENAI_API_KEY</code>, on
          their side only: at the gateway, that variable is the key of the provider. The commands and samples of
          Turnpike read it as <code className="font-mono text-ink">TURNPIKE_API_KEY</code>.
        </p>
      </div>
      <TryIt created={created} root={root} />
    </div>
  )
}

function TryIt({ created, root }: { readonly created: CreatedKey; readonly root: string }) {
  const { data } = useModelChoices()
  const mayChat = created.scopes.length === 0 || created.scopes.includes('chat')
  const model = created.models[0] ?? data?.[0]?.id
  if (!mayChat || model === undefined) {
    const code = `curl ${root}/me -H 'Authorization: Bearer ${created.key}'`
    return <CodeBlock label="Try it" language="curl" code={code} />
  }
  const samples = chatSamples({
    baseUrl: root,
    model,
    key: created.key,
    messages: [{ role: 'user', content: 'Say hello' }],
  })
  return (
    <section aria-labelledby="try-it">
      <h3 id="try-it" className="mb-1 text-base font-semibold text-ink">
        Try it
      </h3>
      <CodeTabs
        tabs={[
          { id: 'curl', label: 'curl', code: samples.curl },
          { id: 'python', label: 'Python', code: samples.python },
          { id: 'typescript', label: 'TypeScript', code: samples.typescript },
        ]}
      />
    </section>
  )
}

interface RevokeKeyProps {
  /** Undefined: nothing is asked. */
  readonly target: Key | undefined
  readonly onClose: () => void
}

/** Says who is going to notice, before it is done. */
export function RevokeKey({ target, onClose }: RevokeKeyProps) {
  const { revoke } = useKeyActions()
  const [kept, setKept] = useState<string>()
  const cascade = kept !== target?.id
  return (
    <ConfirmDialog
      open={target !== undefined}
      onOpenChange={(open) => {
        if (open) return
        setKept(undefined) // each opening offers the cascade again
        onClose()
      }}
      title={`Revoke “${target?.name ?? ''}”?`}
      confirmLabel="Revoke key"
      danger
      onConfirm={async () => {
        if (target === undefined) return
        await revoke(target.id, cascade)
        toast(`“${target.name}” is revoked`)
      }}
    >
      {target !== undefined && (
        <>
          <Effect target={target} />
          <Cascade target={target} checked={cascade} onChange={(all) => setKept(all ? undefined : target.id)} />
        </>
      )}
    </ConfirmDialog>
  )
}

function Effect({ target }: { readonly target: Key }) {
  const { data } = useKey(target.id)
  const now = useNow()
  return (
    <>
      <p className="min-h-10">
        {data === undefined ? usedAt(target, now) : usedBy(data.requests_last_24h, target, now)}
      </p>
      <p>This cannot be undone. Programs that use this key need another one.</p>
    </>
  )
}

interface CascadeProps {
  readonly target: Key
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}

/** Only where the key created something that is still active. */
function Cascade({ target, checked, onChange }: CascadeProps) {
  const { data } = useKey(target.id)
  if (data === undefined || data.created_keys + data.created_webhooks === 0) return null
  const parts = [
    ...(data.created_keys === 0 ? [] : [`revoke ${plural(data.created_keys, 'key')}`]),
    ...(data.created_webhooks === 0 ? [] : [`disable ${plural(data.created_webhooks, 'webhook')}`]),
  ]
  return (
    <CheckboxField
      label={`Also ${parts.join(' and ')} created with this key`}
      description="Includes everything that these keys created. If unchecked, they stay active, and the keys keep the limits of this key."
      name="cascade"
      checked={checked}
      onChange={onChange}
    />
  )
}

function usedBy(count: number, target: Key, now: number): string {
  if (count === 0) return usedAt(target, now)
  return `${plural(count, 'request')} in the last 24 h used it. Their programs will fail within a second.`
}

function usedAt({ last_used_at: at }: Key, now: number): string {
  if (at === null) return 'It was never used. It is rejected within a second.'
  return `It was last used ${relativeTime(at, now)}. It is rejected within a second.`
}
