import {
  ChartColumn,
  CirclePause,
  CirclePlay,
  KeyRound,
  List,
  MoreHorizontal,
  Pencil,
  Plus,
  RefreshCw,
  Trash2,
} from 'lucide-react'
import { useRef, useState } from 'react'
import { useCan } from '../../../api/me.ts'
import { problemOf } from '../../../api/problem.ts'
import { formatCount, plural } from '../../../lib/format.ts'
import { formatDate, formatDateTime } from '../../../lib/time.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button, IconButton } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Menu, type MenuEntry } from '../../../ui/menu.tsx'
import { Page } from '../../../ui/page.tsx'
import { Empty, Forbidden } from '../../../ui/states.tsx'
import { PagedRows } from '../../../ui/table/paged.tsx'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { useNow } from '../../../ui/time-zone.ts'
import { Time } from '../../../ui/values.tsx'
import { targetWith, useSearchChange, useSearchOf } from '../address.ts'
import { KEY_TABS, type KeyTab, readKeysSearch } from '../search.ts'
import { bodyOf, NEW_KEY } from './draft.ts'
import { KeyForm } from './key-form.tsx'
import { type KeyActions, KeySheet } from './key-sheet.tsx'
import { DisableKey, RotateKey } from './key-state-dialogs.tsx'
import { accessOf, Budget, KeyStatus, KeyText, stateOf } from './key-words.tsx'
import { type CreatedKey, type Key, useKeyActions, useKeys } from './queries.ts'
import { RevokeKey, SecretDialog } from './secret-dialog.tsx'

const TITLE = 'API keys'
const TAB_NAMES: Readonly<Record<KeyTab, string>> = {
  active: 'Active',
  disabled: 'Disabled',
  expired: 'Expired',
  revoked: 'Revoked',
  all: 'All',
}

export function KeysPage() {
  if (useCan('keys')) return <Keys />
  return (
    <Page title={TITLE}>
      <Forbidden what="API keys" right="keys" />
    </Page>
  )
}

function Keys() {
  const { status = 'active', key, create, team } = useSearchOf(readKeysSearch)
  const change = useSearchChange()
  const [created, setCreated] = useState<CreatedKey>()
  const [asked, setAsked] = useState<{ readonly what: 'revoke' | 'rotate' | 'disable'; readonly row: Key }>()
  const pages = useKeys(status)
  const { change: changeKey } = useKeyActions()
  const createButton = useRef<HTMLButtonElement>(null)
  const begin = () => change({ create: '1' })
  // The dialog before it, to which the focus would return, is gone.
  const finish = () => {
    setCreated(undefined)
    requestAnimationFrame(() => createButton.current?.focus())
  }
  const targetOf = (what: NonNullable<typeof asked>['what']) => (asked?.what === what ? asked.row : undefined)
  const close = () => setAsked(undefined)
  const actions: KeyActions = {
    onOpen: ({ id }) => change({ key: id }),
    onRevoke: (row) => setAsked({ what: 'revoke', row }),
    onRotate: (row) => setAsked({ what: 'rotate', row }),
    onDisable: (row) => setAsked({ what: 'disable', row }),
    onEnable: (row) =>
      void changeKey(row.id, { disabled: false }).then(
        () => toast(`“${row.name}” is enabled`),
        (error: unknown) => toast(problemOf(error).message, { tone: 'bad' }),
      ),
  }
  return (
    <Page
      title={TITLE}
      description="API keys authenticate programs. Each can have its own limits."
      actions={
        <Button ref={createButton} variant="primary" icon={Plus} onClick={begin}>
          Create key
        </Button>
      }
      wide
    >
      <Tabs
        label="Status"
        value={status}
        onChange={(next) => change({ status: next === 'active' ? undefined : next })}
        items={KEY_TABS.map((value) => ({ value, label: TAB_NAMES[value] }))}
      >
        <PagedRows pages={pages} what="API keys" noun="key" empty={<NoKeys status={status} onCreate={begin} />}>
          {(rows) => <KeysTable rows={rows} actions={actions} />}
        </PagedRows>
      </Tabs>
      <KeySheet
        id={key}
        listed={pages.rows.find(({ id }) => id === key)}
        onClose={() => change({ key: undefined })}
        actions={actions}
      />
      <RevokeKey target={targetOf('revoke')} onClose={close} />
      <RotateKey target={targetOf('rotate')} onClose={close} onRotated={setCreated} />
      <DisableKey target={targetOf('disable')} onClose={close} />
      <CreateKey
        open={create === '1' && created === undefined}
        team={team}
        onClose={() => change({ create: undefined, team: undefined })}
        onCreated={(next) => {
          change({ create: undefined, team: undefined }, { replace: true })
          setCreated(next)
        }}
      />
      <SecretDialog created={created} onClose={finish} />
    </Page>
  )
}

interface NoKeysProps {
  readonly status: KeyTab
  readonly onCreate: () => void
}

function NoKeys({ status, onCreate }: NoKeysProps) {
  if (status === 'expired') return <Empty icon={KeyRound} title="No key has expired" />
  if (status === 'disabled') return <Empty icon={KeyRound} title="No key is disabled" />
  if (status === 'revoked') return <Empty icon={KeyRound} title="No key has been revoked" />
  return (
    <Empty
      icon={KeyRound}
      title="No API keys yet"
      action={
        <Button variant="primary" icon={Plus} onClick={onCreate}>
          Create key
        </Button>
      }
      command="turnpike keys create --name production"
    >
      Create one for each program, to see its usage and to revoke it separately.
    </Empty>
  )
}

interface CreateKeyProps {
  readonly open: boolean
  /** That is proposed. */
  readonly team: string | undefined
  readonly onClose: () => void
  readonly onCreated: (created: CreatedKey) => void
}

function CreateKey({ open, team, onClose, onCreated }: CreateKeyProps) {
  const { create } = useKeyActions()
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Create an API key"
      description="Programs send it with every request. Grant only the rights that it needs."
    >
      <KeyForm
        initial={{ ...NEW_KEY, ...(team !== undefined && { team }) }}
        submitLabel="Create key"
        onSubmit={async (draft) => onCreated(await create(bodyOf(draft, Date.now())))}
        onCancel={onClose}
        autoFocus
      />
    </Dialog>
  )
}

interface KeysTableProps {
  readonly rows: readonly Key[]
  readonly actions: KeyActions
}

function KeysTable({ rows, actions }: KeysTableProps) {
  return (
    <Table
      label="API keys"
      viewId="keys"
      density="comfortable"
      columns={[...COLUMNS, actionsColumn(actions)]}
      rows={rows}
      rowKey={({ id }) => id}
      rowHref={({ id }) => targetWith('/settings/keys', { key: id })}
    />
  )
}

const COLUMNS: readonly Column<Key>[] = [
  { id: 'name', header: 'Key', primary: true, cell: (row) => <Name row={row} /> },
  { id: 'access', header: 'Access', cell: (row) => <Access row={row} /> },
  { id: 'budget', header: 'Budget', cell: (row) => <Budget row={row} /> },
  { id: 'used', header: 'Last used', cell: (row) => <LastUsed row={row} /> },
  { id: 'created', header: 'Created', hideBelow: '2xl', cell: (row) => <Created row={row} /> },
  { id: 'status', header: 'Status', cell: (row) => <StateAndEnd row={row} /> },
]

function actionsColumn(actions: KeyActions): Column<Key> {
  return {
    id: 'actions',
    header: <span className="sr-only">Actions</span>,
    hideBelow: 'md',
    align: 'right',
    cell: (row) => (
      <Menu
        label={`Actions for ${row.name}`}
        trigger={<IconButton label={`Actions for ${row.name}`} icon={MoreHorizontal} size="sm" />}
        items={[
          { label: row.revoked_at === null ? 'Edit' : 'Details', icon: Pencil, onSelect: () => actions.onOpen(row) },
          { label: 'Usage', icon: ChartColumn, href: { to: '/usage', search: { key_id: row.id } } },
          { label: 'Requests', icon: List, href: { to: '/requests', search: { key_id: row.id } } },
          ...changesOf(row, actions),
        ]}
      />
    ),
  }
}

function changesOf(row: Key, { onRotate, onDisable, onEnable, onRevoke }: KeyActions): readonly MenuEntry[] {
  if (row.revoked_at !== null) return []
  const toggle =
    row.disabled_at === null
      ? { label: 'Disable', icon: CirclePause, onSelect: () => onDisable(row) }
      : { label: 'Enable', icon: CirclePlay, onSelect: () => onEnable(row) }
  return [
    { label: 'Rotate', icon: RefreshCw, onSelect: () => onRotate(row) },
    toggle,
    { label: 'Revoke', icon: Trash2, danger: true, onSelect: () => onRevoke(row) },
  ]
}

function Name({ row }: { readonly row: Key }) {
  return (
    <span className="block max-w-32 min-w-28 py-0.5 2xl:max-w-72">
      <span className="block truncate" title={row.name}>
        {row.name}
      </span>
      <span className="block font-normal">
        <KeyText row={row} />
      </span>
    </span>
  )
}

/** What it may do, and below that by what it is limited: models, rate and addresses. */
function Access({ row }: { readonly row: Key }) {
  const access = accessOf(row)
  const limits = limitsOf(row)
  return (
    <span className="block max-w-44 py-0.5 2xl:max-w-72">
      <span className="block truncate" title={access}>
        {access}
      </span>
      {limits !== '' && (
        <span className="block truncate text-xs text-soft" title={limits}>
          {limits}
        </span>
      )}
    </span>
  )
}

function limitsOf({ models, requests_per_minute: rate, ip_allowlist: addresses }: Key): string {
  return [
    ...(models.length === 0 ? [] : [models.length === 1 ? models.join() : plural(models.length, 'model')]),
    ...(rate === null ? [] : [`${formatCount(rate)}/min`]),
    ...(addresses.length === 0 ? [] : [plural(addresses.length, 'address', 'addresses')]),
  ].join(' · ')
}

function LastUsed({ row }: { readonly row: Key }) {
  return row.last_used_at === null ? <span className="text-soft">Never</span> : <Time iso={row.last_used_at} relative />
}

function Created({ row }: { readonly row: Key }) {
  return (
    <span className="block py-0.5">
      <Time iso={row.created_at} relative />
      {row.created_by !== null && (
        <span className="block max-w-28 truncate text-xs text-soft max-md:ml-auto" title={row.created_by.email}>
          by {row.created_by.name === '' ? row.created_by.email : row.created_by.name}
        </span>
      )}
    </span>
  )
}

function StateAndEnd({ row }: { readonly row: Key }) {
  const now = useNow()
  const state = stateOf(row, now)
  return (
    <span className="inline-flex flex-col items-start py-0.5 max-md:items-end">
      <KeyStatus row={row} />
      {row.expires_at !== null && state !== 'revoked' && (
        <span className="text-xs whitespace-nowrap text-soft">
          {state === 'expired' ? '' : 'until '}
          <time dateTime={row.expires_at} title={formatDateTime(row.expires_at, 'utc')}>
            {dayOf(row.expires_at, now)}
          </time>
        </span>
      )}
    </span>
  )
}

const MOST_OF_A_YEAR_MS = 300 * 86_400_000

/** With its year only where it could be mistaken. */
function dayOf(iso: string, now: number): string {
  const day = formatDate(iso)
  return Math.abs(Date.parse(iso) - now) < MOST_OF_A_YEAR_MS ? day.replace(/, \d{4}$/, '') : day
}
