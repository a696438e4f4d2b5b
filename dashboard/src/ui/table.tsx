/** Rows and columns; below `md` one card a row. A row that leads somewhere is a real link. */
import { ArrowDown, ArrowUp, ChevronsUpDown } from 'lucide-react'
import { type ReactNode, useRef } from 'react'
import type { Density, TableView } from '../lib/table-view.ts'
import { AppLink, type LinkTarget } from './app-link.tsx'
import { classNames } from './class-names.ts'
import { BELOW_MD, useMediaQuery } from './media-query.ts'
import { useOverflow } from './overflow.ts'
import { Empty } from './states.tsx'
import { Cards } from './table-cards.tsx'
import { useTableView } from './table-view.ts'
import { ViewMenu } from './table-view-menu.tsx'

export interface Column<Row> {
  readonly id: string
  readonly header: ReactNode
  readonly cell: (row: Row) => ReactNode
  /** Numbers are on the right. */
  readonly align?: 'right'
  readonly sortable?: boolean
  /** Not there in windows narrower than this; of `md` and `lg`, nor in cards. */
  readonly hideBelow?: 'md' | 'lg' | '2xl'
  /** What the row is called: its link, and its card's title. The first column unless one says so. */
  readonly primary?: boolean
}

export interface Sort {
  readonly id: string
  readonly direction: 'asc' | 'desc'
}

export interface TableProps<Row> {
  /** Names the table for those who do not see it. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  /** Where a row leads; undefined: nowhere. */
  readonly rowHref?: (row: Row) => LinkTarget | undefined
  readonly sort?: Sort | undefined
  readonly onSort?: (sort: Sort) => void
  /** What stands below the columns, by their ids. */
  readonly totals?: Readonly<Partial<Record<string, ReactNode>>> | undefined
  /** What stands there when there are no rows. */
  readonly empty?: ReactNode
  readonly density?: Density
  /** Lets people choose columns and density, and is what the browser remembers that by. */
  readonly viewId?: string
  readonly className?: string
}

export function Table<Row>(props: TableProps<Row>) {
  const { viewId, label, columns, density = 'compact' } = props
  const narrow = useMediaQuery(BELOW_MD)
  const view = useTableView(viewId)
  if (props.rows.length === 0) return props.empty ?? <Empty title="Nothing here yet" />
  const seen = { ...props, columns: shownOf(columns, view), density: view.density ?? density }
  const table = narrow ? <Cards {...seen} /> : <Grid {...seen} />
  if (viewId === undefined) return table
  return (
    <div className="min-w-0">
      <div className="mb-2 flex justify-end">
        <ViewMenu id={viewId} label={label} columns={columns} density={density} />
      </div>
      {table}
    </div>
  )
}

/** Without those that were hidden; those that were asked for are there however narrow the window is. */
function shownOf<Row>(columns: readonly Column<Row>[], view: TableView): readonly Column<Row>[] {
  const primary = primaryOf(columns)
  return columns.flatMap((column) => {
    const isShown = view.columns[column.id]
    if (column === primary || isShown === undefined) return [column]
    const { hideBelow: _, ...everywhere } = column
    return isShown ? [everywhere] : []
  })
}

/** What only a line of a table has no room for is in a card. */
export function isInCards<Row>({ hideBelow }: Column<Row>): boolean {
  return hideBelow === undefined || hideBelow === '2xl'
}

/** The column that names the row. */
export function primaryOf<Row>(columns: readonly Column<Row>[]): Column<Row> | undefined {
  return columns.find(({ primary }) => primary === true) ?? columns[0]
}

function Grid<Row>(props: TableProps<Row>) {
  const { label, columns, rows, rowKey, totals, className } = props
  const frame = useRef<HTMLDivElement>(null)
  const overflows = useOverflow(frame)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <section> would be a landmark for every table
    <div
      ref={frame}
      role="group"
      aria-label={label}
      tabIndex={overflows ? 0 : undefined}
      className={classNames(
        'min-w-0 rounded-xl border border-line bg-surface',
        overflows && 'overflow-x-auto [--sticky-top:0px]',
        className,
      )}
    >
      <table className="w-full border-separate border-spacing-0">
        <caption className="sr-only">{label}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <HeaderCell key={column.id} column={column} sort={props.sort} onSort={props.onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <GridRow key={rowKey(row)} row={row} table={props} />
          ))}
        </tbody>
        {totals !== undefined && <Totals columns={columns} totals={totals} />}
      </table>
    </div>
  )
}

interface HeaderCellProps<Row> {
  readonly column: Column<Row>
  readonly sort: Sort | undefined
  readonly onSort: ((sort: Sort) => void) | undefined
}

function HeaderCell<Row>({ column, sort, onSort }: HeaderCellProps<Row>) {
  const { id, header, align, sortable } = column
  const direction = sort?.id === id ? sort.direction : undefined
  const canSort = sortable === true && onSort !== undefined
  return (
    <th
      scope="col"
      aria-sort={ariaSort(canSort, direction)}
      className={classNames(
        'sticky top-(--sticky-top,0px) z-10 h-9 border-b border-line bg-sunken px-3 text-xs font-medium whitespace-nowrap text-soft first:rounded-tl-xl first:pl-4 last:rounded-tr-xl last:pr-4',
        align === 'right' ? 'text-right' : 'text-left',
        hiding(column),
      )}
    >
      {canSort ? (
        <SortButton direction={direction} onSort={(next) => onSort({ id, direction: next })}>
          {header}
        </SortButton>
      ) : (
        header
      )}
    </th>
  )
}

interface SortButtonProps {
  readonly direction: Sort['direction'] | undefined
  readonly onSort: (direction: Sort['direction']) => void
  readonly children: ReactNode
}

function SortButton({ direction, onSort, children }: SortButtonProps) {
  const icons = { asc: ArrowUp, desc: ArrowDown } as const
  const Icon = direction === undefined ? ChevronsUpDown : icons[direction]
  return (
    <button
      type="button"
      onClick={() => onSort(direction === 'desc' ? 'asc' : 'desc')}
      className={classNames(
        '-mx-1 inline-flex h-6 items-center gap-1 rounded-md px-1 hover:text-ink',
        direction !== undefined && 'text-ink',
      )}
    >
      {children}
      <Icon aria-hidden className="size-3.5" />
    </button>
  )
}

function GridRow<Row>({ row, table }: { readonly row: Row; readonly table: TableProps<Row> }) {
  const { columns, rowHref, density = 'compact' } = table
  const target = rowHref?.(row)
  const primary = primaryOf(columns)
  return (
    <tr className={classNames('group', target !== undefined && 'linked-row hover:bg-hover')}>
      {columns.map((column) => (
        <td
          key={column.id}
          className={classNames(
            'border-b border-line px-3 text-ink group-last:border-b-0 first:pl-4 last:pr-4',
            density === 'compact' ? 'h-9 py-1' : 'h-11 py-2',
            column.align === 'right' && 'text-right whitespace-nowrap tabular-nums',
            hiding(column),
          )}
        >
          <RowLink target={column === primary ? target : undefined}>{column.cell(row)}</RowLink>
        </td>
      ))}
    </tr>
  )
}

export interface RowLinkProps {
  readonly target: LinkTarget | undefined
  readonly children: ReactNode
}

/** The link that covers its row, or only what would be in it. */
export function RowLink({ target, children }: RowLinkProps) {
  if (target === undefined) return children
  return (
    <AppLink {...target} className="row-link font-medium">
      {children}
    </AppLink>
  )
}

interface TotalsProps<Row> {
  readonly columns: readonly Column<Row>[]
  readonly totals: Readonly<Partial<Record<string, ReactNode>>>
}

function Totals<Row>({ columns, totals }: TotalsProps<Row>) {
  return (
    <tfoot>
      <tr>
        {columns.map((column, index) => (
          <td
            key={column.id}
            className={classNames(
              'h-9 border-t border-line bg-sunken px-3 font-medium text-ink first:rounded-bl-xl first:pl-4 last:rounded-br-xl last:pr-4',
              column.align === 'right' && 'text-right whitespace-nowrap tabular-nums',
              hiding(column),
            )}
          >
            {totals[column.id] ?? (index === 0 ? 'Total' : undefined)}
          </td>
        ))}
      </tr>
    </tfoot>
  )
}

const HIDING = { md: undefined, lg: 'max-lg:hidden', '2xl': 'max-2xl:hidden' } as const // (below `md` there is no table)

function hiding<Row>({ hideBelow }: Column<Row>): string | undefined {
  return hideBelow && HIDING[hideBelow]
}

function ariaSort(canSort: boolean, direction: Sort['direction'] | undefined) {
  if (!canSort) return undefined
  if (direction === undefined) return 'none'
  return direction === 'asc' ? 'ascending' : 'descending'
}
