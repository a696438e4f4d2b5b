/** Rules about what prompts and answers may contain: list, create, change, disable, delete. */
import { MoreHorizontal, Pause, Pencil, Play, Plus, ShieldCheck, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useCan } from '../../../api/me.ts'
import { problemOf } from '../../../api/problem.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button, IconButton } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { Page } from '../../../ui/page.tsx'
import { Empty, Forbidden } from '../../../ui/states.tsx'
import { EnabledStatus } from '../../../ui/status.tsx'
import { PagedRows } from '../../../ui/table/paged.tsx'
import { actionsColumn, type Column, Table } from '../../../ui/table/table.tsx'
import { CutText, Time } from '../../../ui/values.tsx'
import { CreateDialog, EditDialog } from './guardrail-form.tsx'
import { type Guardrail, useGuardrailActions, useGuardrails } from './queries.ts'
import { KINDS } from './rule-fields.tsx'

const TITLE = 'Guardrails'

export function GuardrailsPage() {
  if (useCan('guardrails')) return <Guardrails />
  return (
    <Page title={TITLE}>
      <Forbidden what="guardrails" right="guardrails" />
    </Page>
  )
}

type Opened = { readonly what: 'edit' | 'delete'; readonly guardrail: Guardrail }

function Guardrails() {
  const pages = useGuardrails()
  const [isCreating, setCreating] = useState(false)
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const target = (what: Opened['what']) => (opened?.what === what ? opened.guardrail : undefined)
  const createButton = (
    <Button variant="primary" icon={Plus} onClick={() => setCreating(true)}>
      Create guardrail
    </Button>
  )
  return (
    <Page
      title={TITLE}
      description="Rules that mask or block secrets, personal data and forbidden text in prompts and answers."
      actions={createButton}
      wide
    >
      <PagedRows
        pages={pages}
        what="guardrails"
        noun="guardrail"
        empty={
          <Empty icon={ShieldCheck} title="No guardrails yet" action={createButton}>
            A guardrail applies to every request of the account, or of chosen keys and teams, within a second.
          </Empty>
        }
      >
        {(rows) => <GuardrailTable rows={rows} onOpen={setOpened} />}
      </PagedRows>
      <CreateDialog open={isCreating} onClose={() => setCreating(false)} />
      <EditDialog target={target('edit')} onClose={close} />
      <DeleteDialog target={target('delete')} onClose={close} />
    </Page>
  )
}

interface TableProps {
  readonly rows: readonly Guardrail[]
  readonly onOpen: (opened: Opened) => void
}

function GuardrailTable({ rows, onOpen }: TableProps) {
  return (
    <Table
      label="Guardrails"
      viewId="guardrails"
      density="comfortable"
      columns={[...COLUMNS, actionsColumn<Guardrail>((guardrail) => <Actions guardrail={guardrail} onOpen={onOpen} />)]}
      rows={rows}
      rowKey={({ id }) => id}
    />
  )
}

const COLUMNS: readonly Column<Guardrail>[] = [
  { id: 'name', header: 'Name', primary: true, cell: ({ name }) => <CutText text={name} /> },
  { id: 'rules', header: 'Rules', cell: ({ rules }) => <CutText text={rulesText(rules)} /> },
  { id: 'for', header: 'For', cell: scopeText },
  { id: 'status', header: 'Status', cell: ({ enabled }) => <EnabledStatus enabled={enabled} /> },
  { id: 'updated', header: 'Changed', cell: (row) => <Time iso={row.updated_at} relative /> },
]

function rulesText(rules: Guardrail['rules']): string {
  return [...new Set(rules.map(({ kind }) => KINDS[kind]))].join(', ')
}

function scopeText({ keys, teams }: Guardrail): string {
  const parts = [
    ...(keys === null ? [] : [keys.length === 1 ? '1 key' : `${keys.length} keys`]),
    ...(teams === null ? [] : [teams.length === 1 ? '1 team' : `${teams.length} teams`]),
  ]
  return parts.length === 0 ? 'All requests' : parts.join(', ')
}

interface ActionsProps extends Pick<TableProps, 'onOpen'> {
  readonly guardrail: Guardrail
}

function Actions({ guardrail, onOpen }: ActionsProps) {
  const { change } = useGuardrailActions()
  const label = `Actions for ${guardrail.name}`
  const enable = (enabled: boolean) =>
    void change(guardrail.id, { enabled }).catch((error: unknown) => toast(problemOf(error).message, { tone: 'bad' }))
  return (
    <Menu
      label={label}
      trigger={<IconButton label={label} icon={MoreHorizontal} size="sm" />}
      items={[
        { label: 'Edit', icon: Pencil, onSelect: () => onOpen({ what: 'edit', guardrail }) },
        guardrail.enabled
          ? { label: 'Disable', icon: Pause, onSelect: () => enable(false) }
          : { label: 'Enable', icon: Play, onSelect: () => enable(true) },
        { label: 'Delete', icon: Trash2, danger: true, onSelect: () => onOpen({ what: 'delete', guardrail }) },
      ]}
    />
  )
}

interface DeleteDialogProps {
  /** Undefined: nothing is asked. */
  readonly target: Guardrail | undefined
  readonly onClose: () => void
}

function DeleteDialog({ target, onClose }: DeleteDialogProps) {
  const { remove } = useGuardrailActions()
  return (
    <ConfirmDialog
      open={target !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={`Delete ${target?.name ?? ''}?`}
      confirmLabel="Delete guardrail"
      danger
      onConfirm={async () => {
        if (target === undefined) return
        await remove(target.id)
        toast(`${target.name} is deleted`)
      }}
    >
      <p>Its rules stop applying within a second.</p>
    </ConfirmDialog>
  )
}
