import { CircleCheck, CircleX } from 'lucide-react'
import { StatusChip } from '../../../ui/status.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { Dash, Time } from '../../../ui/values.tsx'
import { targetWith } from '../address.ts'
import type { Entry } from './queries.ts'
import { type NameOf, sentenceOf } from './sentence.ts'

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
        <span className="font-normal break-words">{sentenceOf({ ...row, details: fieldsOf(row) }, nameOf)}</span>
      ),
    },
    { id: 'result', header: 'Result', cell: (row) => <Result result={row.result} /> },
    {
      id: 'address',
      header: 'From',
      hideBelow: 'lg',
      cell: (row) => (row.address === null ? <Dash /> : <span className="font-mono text-sm">{row.address}</span>),
    },
  ]
}

/** The details, which the API's description knows as an object alone. */
export function fieldsOf({ details }: Pick<Entry, 'details'>): Readonly<Record<string, unknown>> {
  return { ...details }
}

export function Result({ result }: Pick<Entry, 'result'>) {
  return result === 'denied' ? (
    <StatusChip tone="bad" icon={CircleX}>
      Refused
    </StatusChip>
  ) : (
    <StatusChip tone="good" icon={CircleCheck}>
      Done
    </StatusChip>
  )
}
