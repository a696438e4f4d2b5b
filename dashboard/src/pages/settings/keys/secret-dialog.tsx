/** The secret of a new key: shown this once, and not taken away by accident. */
import { useBlocker } from '@tanstack/react-router'
import { useState } from 'react'
import { chatSamples } from '../../../lib/code-samples.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { CodeBlock, CodeTabs } from '../../../ui/code.tsx'
import { CopyButton } from '../../../ui/copy.tsx'
import { ConfirmDialog, Dialog } from '../../../ui/dialog.tsx'
import { type CreatedKey, useModelChoices } from './queries.ts'

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
        description={`This is the only time that the secret of “${created?.name ?? ''}” is shown.`}
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
        <p>Nobody can show it again, not even the gateway. If it is lost, revoke this key and create another.</p>
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
      <CodeBlock
        label="Lines for .env"
        language=".env"
        code={`OPENAI_API_KEY=${created.key}\nOPENAI_BASE_URL=${root}`}
      />
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
