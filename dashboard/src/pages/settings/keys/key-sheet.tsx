import { ChartColumn, CirclePause, CirclePlay, List, Plus, RefreshCw, Trash2 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useCan } from '../../../api/me.ts'
import { useAccountNames } from '../../../api/names.ts'
import { formatCount } from '../../../lib/format.ts'
import { toast } from '../../../ui/announcer.tsx'
import { AppLink } from '../../../ui/app-link.tsx'
import { Button, LinkButton } from '../../../ui/button.tsx'
import { CopyableId } from '../../../ui/copy.tsx'
import { Sheet } from '../../../ui/dialog.tsx'
import { Loaded } from '../../../ui/states.tsx'
import { useNow } from '../../../ui/time-zone.ts'
import { Details, type DetailsItem, Time } from '../../../ui/values.tsx'
import { limitText, UsedOf } from '../budgets/budget-words.tsx'
import { CreateBudget } from '../budgets/create-budget.tsx'
import { NEW_BUDGET } from '../budgets/draft.ts'
import { labelOfRight } from '../members/rights.ts'
import { changesOf, draftOf } from './draft.ts'
import { KeyForm } from './key-form.tsx'
import { Budget, KeyStatus, KeyText, stateOf } from './key-words.tsx'
import { type Key, useKey, useKeyActions } from './queries.ts'

export interface KeyActions {
  readonly onOpen: (key: Key) => void
  readonly onRotate: (key: Key) => void
  readonly onDisable: (key: Key) => void
  readonly onEnable: (key: Key) => void
  readonly onRevoke: (key: Key) => void
}

interface KeySheetProps {
  /** Undefined: closed. */
  readonly id: string | undefined
  /** The key as the list has it, until all of it is there. */
  readonly listed: Key | undefined
  readonly onClose: () => void
  readonly actions: KeyActions
}

export function KeySheet({ id, listed, onClose, actions }: KeySheetProps) {
  return (
    <Sheet
      open={id !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={listed?.name ?? 'API key'}
      description={listed === undefined ? undefined : <KeyText row={listed} />}
    >
      {id !== undefined && <SheetContent id={id} onClose={onClose} actions={actions} />}
    </Sheet>
  )
}

interface SheetContentProps extends Pick<KeySheetProps, 'onClose' | 'actions'> {
  readonly id: string
}

type DetailedKey = NonNullable<ReturnType<typeof useKey>['data']>

function SheetContent({ id, onClose, actions }: SheetContentProps) {
  return (
    <Loaded query={useKey(id)} what="this key">
      {(found) => (
        <div className="flex flex-col gap-6">
          <div className="flex flex-wrap gap-2">
            <LinkButton size="sm" icon={ChartColumn} to="/usage" search={{ key_id: id }}>
              Usage
            </LinkButton>
            <LinkButton size="sm" icon={List} to="/requests" search={{ key_id: id }}>
              Requests
            </LinkButton>
            {found.revoked_at === null && <KeyButtons row={found} actions={actions} />}
          </div>
          <KeyDetails row={found} />
          <KeyBudgets row={found} />
          {found.revoked_at === null && <Editing key={found.id} row={found} onClose={onClose} />}
        </div>
      )}
    </Loaded>
  )
}

function KeyButtons({ row, actions }: { readonly row: DetailedKey; readonly actions: KeyActions }) {
  const isDisabled = row.disabled_at !== null
  return (
    <span className="ml-auto flex flex-wrap gap-2">
      <Button size="sm" icon={RefreshCw} onClick={() => actions.onRotate(row)}>
        Rotate
      </Button>
      <Button
        size="sm"
        icon={isDisabled ? CirclePlay : CirclePause}
        onClick={() => (isDisabled ? actions.onEnable(row) : actions.onDisable(row))}
      >
        {isDisabled ? 'Enable' : 'Disable'}
      </Button>
      <Button size="sm" icon={Trash2} onClick={() => actions.onRevoke(row)}>
        Revoke
      </Button>
    </span>
  )
}

function KeyDetails({ row }: { readonly row: DetailedKey }) {
  const items: readonly DetailsItem[] = [
    { label: 'Status', value: <KeyStatus row={row} /> },
    { label: 'Id', value: <CopyableId id={row.id} /> },
    { label: 'Created', value: <Time iso={row.created_at} /> },
    { label: 'Created by', value: <Creator row={row} /> },
    ...(row.team_id === null ? [] : [{ label: 'Team', value: <TeamOf id={row.team_id} /> }]),
    { label: 'Last used', value: row.last_used_at === null ? 'Never' : <Time iso={row.last_used_at} relative /> },
    { label: 'Requests, last 24 h', value: formatCount(row.requests_last_24h) },
    ...(row.monthly_budget_usd === null ? [] : [{ label: 'Budget', value: <Budget row={row} /> }]),
    ...useEnd(row),
    ...usePrevious(row),
    ...(row.revoked_at === null ? [] : rightsItems(row)),
  ]
  return <Details items={items} />
}

function TeamOf({ id }: { readonly id: string }) {
  const { nameOf } = useAccountNames()
  return (
    <AppLink to="/settings/teams/$teamId" params={{ teamId: id }} className="text-accent underline underline-offset-2">
      {nameOf(id)}
    </AppLink>
  )
}

/** Budgets besides the monthly one. They are changed on the page of budgets. */
function KeyBudgets({ row }: { readonly row: DetailedKey }) {
  const canAdd = useCan('billing')
  const [isAdding, setAdding] = useState(false)
  if (row.budgets.length === 0 && !canAdd) return null
  return (
    <section aria-labelledby="key-budgets" className="border-t border-line pt-5">
      <div className="mb-3 flex items-center justify-between gap-4">
        <h3 id="key-budgets" className="text-lg font-semibold text-ink">
          Budgets
        </h3>
        {canAdd && row.revoked_at === null && (
          <Button size="sm" icon={Plus} onClick={() => setAdding(true)}>
            Add budget
          </Button>
        )}
      </div>
      {row.budgets.length === 0 ? (
        <p className="text-soft">None besides its monthly budget.</p>
      ) : (
        <ul className="flex flex-col gap-3">
          {row.budgets.map((budget) => (
            <li key={budget.id} className="flex flex-wrap items-center justify-between gap-x-4">
              <AppLink
                to="/settings/budgets"
                search={{ budget: budget.id }}
                className="text-accent underline underline-offset-2"
              >
                {limitText(budget)}
              </AppLink>
              <UsedOf budget={budget} />
            </li>
          ))}
        </ul>
      )}
      <CreateBudget
        open={isAdding}
        initial={{ ...NEW_BUDGET, level: 'key', subject: row.id }}
        isFixed
        onClose={() => setAdding(false)}
      />
    </section>
  )
}

function useEnd(row: DetailedKey): readonly DetailsItem[] {
  const state = stateOf(row, useNow())
  if (state === 'revoked') return [{ label: 'Revoked', value: <Time iso={row.revoked_at} /> }]
  const label = state === 'expired' ? 'Expired' : 'Expires'
  return [{ label, value: row.expires_at === null ? 'Never' : <Time iso={row.expires_at} /> }]
}

/** The secret before a rotation, while it is valid. */
function usePrevious({ previous_secret: previous }: DetailedKey): readonly DetailsItem[] {
  const now = useNow()
  if (previous === null || Date.parse(previous.valid_until) <= now) return []
  const value = (
    <>
      …{previous.last4}, valid until <Time iso={previous.valid_until} />
    </>
  )
  return [{ label: 'Previous secret', value }]
}

function Creator({ row: { created_by: by, parent_id: parent } }: { readonly row: DetailedKey }): ReactNode {
  const person = by === null ? undefined : by.name === '' ? by.email : `${by.name} (${by.email})`
  if (parent === null) return person ?? 'The command line'
  return person === undefined ? <CopyableId id={parent} /> : `${person}, with the key ${parent}`
}

/** What a key that is revoked could do: it is not edited any more. */
function rightsItems(row: DetailedKey): readonly DetailsItem[] {
  const access = row.scopes.length === 0 ? 'Full access' : row.scopes.map(labelOfRight).join(', ')
  return [
    { label: 'Access', value: access },
    ...(row.models.length === 0 ? [] : [{ label: 'Models', value: row.models.join(', ') }]),
    ...(row.ip_allowlist.length === 0 ? [] : [{ label: 'IP addresses', value: row.ip_allowlist.join(', ') }]),
  ]
}

function Editing({ row, onClose }: { readonly row: DetailedKey; readonly onClose: () => void }) {
  const { change } = useKeyActions()
  return (
    <section aria-labelledby="edit-key" className="border-t border-line pt-5">
      <h3 id="edit-key" className="mb-4 text-lg font-semibold text-ink">
        Edit
      </h3>
      <KeyForm
        initial={draftOf(row)}
        original={row}
        submitLabel="Save changes"
        onCancel={onClose}
        onSubmit={async (draft) => {
          const changes = changesOf(row, draft, Date.now())
          if (Object.keys(changes).length > 0) await change(row.id, changes)
          toast(`Saved “${draft.name.trim()}”`)
          onClose()
        }}
      />
    </section>
  )
}
