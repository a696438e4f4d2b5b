/** Which prompts and answers of the account are stored. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, take } from '../../../api/client.ts'
import { useCan } from '../../../api/me.ts'
import type { paths } from '../../../api/schema.d.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { NumberField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { CheckboxField } from '../../../ui/form/toggle-fields.tsx'
import { Notice } from '../../../ui/notice.tsx'
import { Page } from '../../../ui/page.tsx'
import { Forbidden, Loaded } from '../../../ui/states.tsx'
import { ScopeFields, type ScopeIds } from '../scope-fields.tsx'

const PATH = '/v1/content-capture'
type Capture = paths[typeof PATH]['get']['responses']['200']['content']['application/json']

const TITLE = 'Content capture'

export function ContentPage() {
  if (useCan('content')) return <ContentCapture />
  return (
    <Page title={TITLE}>
      <Forbidden what="content capture" right="content" />
    </Page>
  )
}

function ContentCapture() {
  const query = useQuery({ queryKey: [PATH], queryFn: () => take(api.GET(PATH)) })
  return (
    <Page
      title={TITLE}
      description="Stores prompts and answers, encrypted and as guardrails leave them. They are in the details of each request."
    >
      <Loaded query={query} what="content capture">
        {(capture) => (
          <div className="flex flex-col gap-8">
            {!capture.allowed && (
              <Notice tone="warn" title="The operator does not allow content capture">
                Nothing is stored until <code className="font-mono">content_capture.allow</code> is true in the
                configuration of the installation.
              </Notice>
            )}
            <CaptureForm capture={capture} />
            <DeleteAll />
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function CaptureForm({ capture }: { readonly capture: Capture }) {
  const client = useQueryClient()
  const [enabled, setEnabled] = useState(capture.enabled)
  const [scope, setScope] = useState<ScopeIds>({ keys: capture.keys ?? [], teams: capture.teams ?? [] })
  const [days, setDays] = useState<number | undefined>(capture.retention_days)
  const save = async () => {
    const { keys, teams } = scope
    const body = {
      enabled,
      keys: keys.length === 0 ? null : [...keys],
      teams: teams.length === 0 ? null : [...teams],
      ...(days !== undefined && { retention_days: days }),
    }
    client.setQueryData([PATH], await take(api.PUT(PATH, { body })))
    toast('Content capture saved')
  }
  return (
    <Form onSubmit={save} submitLabel="Save">
      <CheckboxField
        label="Store prompts and answers"
        description="Of requests from now on."
        name="enabled"
        checked={enabled}
        onChange={setEnabled}
        disabled={!capture.allowed && !enabled}
      />
      <ScopeFields value={scope} onChange={setScope} />
      <NumberField
        label="Retention"
        name="retention_days"
        suffix="days"
        value={days}
        onChange={setDays}
        min={1}
        max={3650}
        whole
      />
    </Form>
  )
}

function DeleteAll() {
  const [isOpen, setOpen] = useState(false)
  return (
    <div>
      <Button onClick={() => setOpen(true)}>Delete all stored content</Button>
      <ConfirmDialog
        open={isOpen}
        onOpenChange={setOpen}
        title="Delete all prompts and answers of the account?"
        confirmLabel="Delete all content"
        danger
        onConfirm={async () => {
          const { deleted } = await take(api.DELETE('/v1/usage/content'))
          toast(deleted === 1 ? 'Content of 1 request deleted' : `Content of ${deleted} requests deleted`)
        }}
      >
        <p>Requests stay on the list, with their cost. This cannot be undone.</p>
      </ConfirmDialog>
    </div>
  )
}
