import { CopyableId } from '../../ui/copy.tsx'
import { DeliveryStatus } from '../../ui/status.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Dash, Time } from '../../ui/values.tsx'
import type { Delivery } from './queries.ts'

const COLUMNS: readonly Column<Delivery>[] = [
  { id: 'type', header: 'Event', primary: true, cell: ({ type }) => type },
  { id: 'status', header: 'Status', cell: ({ status }) => <DeliveryStatus status={status} /> },
  { id: 'code', header: 'Answer', cell: (delivery) => <LastAnswer delivery={delivery} /> },
  {
    id: 'attempts',
    header: 'Attempts',
    align: 'right',
    // (a list has the newest attempts alone, numbered through)
    cell: ({ attempts }) => attempts.at(-1)?.number ?? 0,
  },
  { id: 'event', header: 'Event id', hideBelow: 'lg', cell: ({ event_id: id }) => <CopyableId id={id} /> },
  { id: 'created', header: 'When', cell: ({ created_at: at }) => <Time iso={at} relative /> },
  { id: 'next', header: 'Next attempt', cell: ({ next_attempt_at: at }) => <Time iso={at} relative /> },
]

interface DeliveriesTableProps {
  readonly webhookId: string
  readonly rows: readonly Delivery[]
}

export function DeliveriesTable({ webhookId, rows }: DeliveriesTableProps) {
  return (
    <Table
      label="Deliveries"
      viewId="deliveries"
      columns={COLUMNS}
      rows={rows}
      rowKey={({ id }) => id}
      rowHref={({ id }) => ({
        to: '/webhooks/$webhookId',
        params: { webhookId },
        search: (previous) => ({ ...previous, delivery: id }),
      })}
    />
  )
}

/** Of the last attempt: its status, or why there is none. */
function LastAnswer({ delivery: { attempts, error } }: { readonly delivery: Delivery }) {
  const last = attempts.at(-1)
  if (last?.status_code != null) return <span className="tabular-nums">{last.status_code}</span>
  const why = last?.error ?? error
  return why === null ? <Dash /> : why.replaceAll('_', ' ')
}
