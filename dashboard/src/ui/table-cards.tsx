/** A table where it is narrow: one card a row, with the headers as names. */
import { classNames } from './class-names.ts'
import { type Column, isInCards, primaryOf, RowLink, type TableProps } from './table.tsx'

export function Cards<Row>(props: TableProps<Row>) {
  const { label, columns, rows, rowKey, totals, className } = props
  const shown = columns.filter(({ id }) => totals?.[id] !== undefined)
  return (
    <div className={className}>
      <ul aria-label={label} className="flex flex-col gap-2">
        {rows.map((row) => (
          <RowCard key={rowKey(row)} row={row} table={props} />
        ))}
      </ul>
      {shown.length > 0 && (
        <dl className="mt-2 rounded-xl border border-line bg-sunken px-4 py-2 font-medium">
          {shown.map((column) => (
            <div key={column.id} className="flex justify-between gap-4 py-1">
              <dt className="text-soft">
                Total <span className="text-soft">{column.header}</span>
              </dt>
              <dd className="text-right tabular-nums">{totals?.[column.id]}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  )
}

function RowCard<Row>({ row, table }: { readonly row: Row; readonly table: TableProps<Row> }) {
  const { columns, rowHref } = table
  const target = rowHref?.(row)
  const primary = primaryOf(columns)
  const others = columns.filter((column) => column !== primary && isInCards(column))
  return (
    <li
      className={classNames(
        'rounded-xl border border-line bg-surface px-4 py-3',
        target !== undefined && 'linked-row hover:bg-hover',
      )}
    >
      <div className="min-w-0 font-medium break-words text-ink">
        <RowLink target={target}>{primary?.cell(row)}</RowLink>
      </div>
      {others.length > 0 && (
        <dl className="mt-2">
          {others.map((column) => (
            <CardLine key={column.id} column={column} row={row} />
          ))}
        </dl>
      )}
    </li>
  )
}

function CardLine<Row>({ column, row }: { readonly column: Column<Row>; readonly row: Row }) {
  return (
    <div className="flex items-baseline justify-between gap-4 py-0.5">
      <dt className="shrink-0 text-sm text-soft">{column.header}</dt>
      <dd className="min-w-0 text-right break-words text-ink">{column.cell(row)}</dd>
    </div>
  )
}
