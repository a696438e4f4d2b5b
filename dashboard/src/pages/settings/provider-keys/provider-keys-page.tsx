/** The account's own keys at providers: list, add with the result of the test, rotate, delete. */
import { KeyRound, MoreHorizontal, Pencil, Plug, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useCan } from '../../../api/me.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button, IconButton } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { Page } from '../../../ui/page.tsx'
import { Empty, Forbidden } from '../../../ui/states.tsx'
import { StatusChip, type Tone } from '../../../ui/status.tsx'
import { PagedRows } from '../../../ui/table/paged.tsx'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { Time } from '../../../ui/values.tsx'
import { AddDialog, EditDialog, RotateDialog } from './dialogs.tsx'
import { type Credential, useCredentialActions, useCredentials, useKeyChoices } from './queries.ts'

const TITLE = 'Provider keys'

export function ProviderKeysPage() {
  if (useCan('keys')) return <ProviderKeys />
  return (
    <Page title={TITLE}>
      <Forbidden what="provider keys" right="keys" />
    </Page>
  )
}

type Opened = { readonly what: 'edit' | 'rotate' | 'delete'; readonly credential: Credential }

function ProviderKeys() {
  const pages = useCredentials()
  const [isAdding, setAdding] = useState(false)
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const target = (what: Opened['what']) => (opened?.what === what ? opened.credential : undefined)
  const addButton = (
    <Button variant="primary" icon={Plus} onClick={() => setAdding(true)}>
      Add provider key
    </Button>
  )
  return (
    <Page
      title={TITLE}
      description="Your own keys at providers. Requests use them in place of the operator’s, and the provider bills you."
      actions={addButton}
      wide
    >
      <PagedRows
        pages={pages}
        what="provider keys"
        noun="key"
        empty={
          <Empty
            icon={Plug}
            title="No provider keys yet"
            action={addButton}
            command="turnpike provider-credentials add openai"
          >
            Add a key to call the models of a provider on your own account there.
          </Empty>
        }
      >
        {(rows) => <Credentials rows={rows} onOpen={setOpened} />}
      </PagedRows>
      <AddDialog open={isAdding} onClose={() => setAdding(false)} />
      <EditDialog target={target('edit')} onClose={close} />
      <RotateDialog target={target('rotate')} onClose={close} />
      <DeleteDialog target={target('delete')} onClose={close} />
    </Page>
  )
}

interface CredentialsProps {
  readonly rows: readonly Credential[]
  readonly onOpen: (opened: Opened) => void
}

function Credentials({ rows, onOpen }: CredentialsProps) {
  return (
    <Table
      label="Provider keys"
      viewId="provider-keys"
      density="comfortable"
      columns={[...COLUMNS, actionsColumn(onOpen)]}
      rows={rows}
      rowKey={({ id }) => id}
    />
  )
}

const COLUMNS: readonly Column<Credential>[] = [
  { id: 'provider', header: 'Provider', primary: true, cell: (row) => <Provider row={row} /> },
  { id: 'for', header: 'For', cell: (row) => <Scope row={row} /> },
  { id: 'fallback', header: 'Fallback', cell: (row) => (row.allow_fallback ? 'Operator’s key' : 'None') },
  { id: 'status', header: 'Status', cell: (row) => <Status row={row} /> },
  { id: 'created', header: 'Created', cell: (row) => <Time iso={row.created_at} relative /> },
]

function actionsColumn(onOpen: CredentialsProps['onOpen']): Column<Credential> {
  return {
    id: 'actions',
    header: <span className="sr-only">Actions</span>,
    align: 'right',
    cell: (credential) => {
      const label = `Actions for ${credential.provider} …${credential.last4}`
      return (
        <Menu
          label={label}
          trigger={<IconButton label={label} icon={MoreHorizontal} size="sm" />}
          items={[
            { label: 'Edit', icon: Pencil, onSelect: () => onOpen({ what: 'edit', credential }) },
            { label: 'Rotate', icon: KeyRound, onSelect: () => onOpen({ what: 'rotate', credential }) },
            { label: 'Delete', icon: Trash2, danger: true, onSelect: () => onOpen({ what: 'delete', credential }) },
          ]}
        />
      )
    },
  }
}

function Provider({ row }: { readonly row: Credential }) {
  return (
    <span className="block max-w-44 min-w-28 py-0.5 2xl:max-w-72">
      <span className="block truncate" title={row.provider}>
        {row.provider}
      </span>
      <span className="block truncate text-xs font-normal text-soft" title={row.name}>
        <code className="font-mono">…{row.last4}</code>
        {row.name !== '' && ` · ${row.name}`}
      </span>
    </span>
  )
}

function Scope({ row }: { readonly row: Credential }) {
  const { data } = useKeyChoices()
  if (row.key_id === null) return 'All requests'
  const name = data?.find(({ id }) => id === row.key_id)?.name ?? row.key_id
  return (
    <span className="block max-w-44 truncate" title={name}>
      {name}
    </span>
  )
}

const STATES: Readonly<Record<Credential['status'], readonly [tone: Tone, word: string]>> = {
  verified: ['good', 'Verified'],
  untested: ['neutral', 'Not verified'],
  refused: ['bad', 'Refused'],
}

function Status({ row }: { readonly row: Credential }) {
  const [tone, word] = STATES[row.status]
  return <StatusChip tone={tone}>{word}</StatusChip>
}

interface DeleteDialogProps {
  /** Undefined: nothing is asked. */
  readonly target: Credential | undefined
  readonly onClose: () => void
}

function DeleteDialog({ target, onClose }: DeleteDialogProps) {
  const { remove } = useCredentialActions()
  return (
    <ConfirmDialog
      open={target !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={`Delete the key for ${target?.provider ?? ''}?`}
      confirmLabel="Delete key"
      danger
      onConfirm={async () => {
        if (target === undefined) return
        await remove(target.id)
        toast(`The key for ${target.provider} is deleted`)
      }}
    >
      <p>Requests use the operator’s key again within a second, at the full price.</p>
    </ConfirmDialog>
  )
}
