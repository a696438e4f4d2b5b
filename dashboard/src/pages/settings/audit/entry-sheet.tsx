import { CircleCheck, CircleX, Filter } from 'lucide-react'
import type { ReactNode } from 'react'
import { formatCount } from '../../../lib/format.ts'
import { Button } from '../../../ui/button.tsx'
import { CodeBlock } from '../../../ui/code.tsx'
import { CopyableId } from '../../../ui/copy.tsx'
import { Sheet } from '../../../ui/dialog.tsx'
import { Empty, Loaded } from '../../../ui/states.tsx'
import { StatusChip } from '../../../ui/status.tsx'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { Dash, Details, type DetailsItem, Time } from '../../../ui/values.tsx'
import { targetWith, useSearchChange } from '../address.ts'
import { type Entry, useEntry } from './queries.ts'
import { actionName, actorName, type NameOf, sentenceOf } from './sentence.ts'

interface EntrySheetProps {
  /** Undefined: closed. */
  readonly id: string | undefined
  readonly at: string | undefined
  readonly listed: Entry | undefined
  readonly nameOf: NameOf
  readonly onClose: () => void
}

export function EntrySheet({ id, at, listed, nameOf, onClose }: EntrySheetProps) {
  return (
    <Sheet
      open={id !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title="Audit entry"
    >
      {listed !== undefined && <EntryView entry={listed} nameOf={nameOf} />}
      {listed === undefined && id !== undefined && <Found id={id} at={at} nameOf={nameOf} />}
    </Sheet>
  )
}

/** One that the list has not, by an address that somebody was given. */
function Found({ id, at, nameOf }: { readonly id: string } & Pick<EntrySheetProps, 'at' | 'nameOf'>) {
  const query = useEntry(id, at)
  if (at === undefined) return <Empty title="This entry is not in the list">Clear some filters to find it.</Empty>
  return (
    <Loaded query={query} what="this entry">
      {(entry) => (entry === null ? <Empty title="Entry not found" /> : <EntryView entry={entry} nameOf={nameOf} />)}
    </Loaded>
  )
}

interface EntryViewProps {
  readonly entry: Entry
  readonly nameOf: NameOf
}

function EntryView({ entry, nameOf }: EntryViewProps) {
  const change = useSearchChange()
  const fields = fieldsOf(entry)
  const { actor } = entry
  const only = (changes: { action?: string; actor?: string }) => change({ ...changes, entry: undefined, at: undefined })
  return (
    <div className="flex flex-col gap-5">
      <p className="text-lg break-words text-ink">{sentenceOf({ ...entry, details: fields }, nameOf)}</p>
      <div className="flex flex-wrap gap-2">
        <Button size="sm" icon={Filter} onClick={() => only({ action: entry.action })}>
          Only “{actionName(entry.action)}”
        </Button>
        {actor.id !== null && (
          <Button size="sm" icon={Filter} onClick={() => only({ actor: actor.id ?? '' })}>
            Only this person
          </Button>
        )}
      </div>
      <Details
        items={[
          { label: 'Id', value: <CopyableId id={entry.id} /> },
          { label: 'Result', value: <Result {...entry} /> },
          ...timesOf(entry),
          { label: 'By', value: <Actor entry={entry} nameOf={nameOf} /> },
          { label: 'Action', value: <code className="font-mono text-sm">{entry.action}</code> },
          { label: 'To', value: orDash(entry.subject, (id) => <CopyableId id={id} />) },
          {
            label: 'Address',
            value: orDash(entry.address, (address) => <span className="font-mono text-sm">{address}</span>),
          },
          { label: 'User agent', value: orDash(entry.user_agent, (text) => text) },
          { label: 'Request ID', value: orDash(entry.request_id, (id) => <CopyableId id={id} />) },
        ]}
      />
      {Object.keys(fields).length > 0 && (
        <CodeBlock label="Details" language="Details" code={JSON.stringify(fields, null, 2)} />
      )}
    </div>
  )
}

/** With the last attempt where the entry counts several. */
function timesOf({ at, attempts, last_at: lastAt }: Entry): readonly DetailsItem[] {
  if (attempts === 1) return [{ label: 'When', value: <Time iso={at} /> }]
  return [
    { label: 'Attempts', value: formatCount(attempts) },
    { label: 'First attempt', value: <Time iso={at} /> },
    { label: 'Last attempt', value: <Time iso={lastAt} /> },
  ]
}

function Actor({ entry, nameOf }: EntryViewProps) {
  return (
    <span className="flex flex-col gap-0.5">
      <span className="break-words">{actorName(entry, nameOf)}</span>
      {entry.actor.id !== null && <CopyableId id={entry.actor.id} />}
    </span>
  )
}

function orDash(value: string | null, render: (value: string) => ReactNode): ReactNode {
  return value === null ? <Dash /> : render(value)
}

interface AuditTableProps {
  readonly rows: readonly Entry[]
  readonly nameOf: NameOf
}

export function AuditTable({ rows, nameOf }: AuditTableProps) {
  return (
    <Table
      label="Audit log"
      columns={columnsFor(nameOf)}
      rows={rows}
      rowKey={({ id }) => id}
      rowHref={({ id, at }) => targetWith('/settings/audit', { entry: id, at })}
    />
  )
}

function columnsFor(nameOf: NameOf): readonly Column<Entry>[] {
  return [
    { id: 'at', header: 'When', cell: (row) => <Time iso={row.at} /> },
    {
      id: 'what',
      header: 'What',
      primary: true,
      cell: (row) => (
        <span className="font-normal wrap-anywhere">{sentenceOf({ ...row, details: fieldsOf(row) }, nameOf)}</span>
      ),
    },
    { id: 'result', header: 'Result', cell: (row) => <Result {...row} /> },
    {
      id: 'address',
      header: 'From',
      hideBelow: 'lg',
      cell: (row) => (row.address === null ? <Dash /> : <span className="font-mono text-sm">{row.address}</span>),
    },
  ]
}

/** The details, which the API's description knows as an object alone. */
function fieldsOf({ details }: Pick<Entry, 'details'>): Readonly<Record<string, unknown>> {
  return { ...details }
}

/** Denied attempts of the same kind share one entry: `Refused × 12`. */
function Result({ result, attempts }: Pick<Entry, 'result' | 'attempts'>) {
  return result === 'denied' ? (
    <StatusChip tone="bad" icon={CircleX}>
      {attempts > 1 ? `Refused × ${formatCount(attempts)}` : 'Refused'}
    </StatusChip>
  ) : (
    <StatusChip tone="good" icon={CircleCheck}>
      Done
    </StatusChip>
  )
}
