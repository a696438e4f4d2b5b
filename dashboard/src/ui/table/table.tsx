/** Rows and columns; below `md` one card a row. A row that leads somewhere is a real link. */
import { ArrowDown, ArrowUp, ChevronsUpDown } from 'lucide-react'
import { memo, type ReactNode, useMemo, useRef } from 'react'
import type { Density, TableView } from '../../lib/table-view.ts'
import { AppLink, type LinkTarget } from '../app-link.tsx'
import { classNames } from '../class-names.ts'
import { BELOW_MD, useMediaQuery } from '../media-query.ts'
import { Empty } from '../states.tsx'
import { isInCards, primaryOf, useTableView, type ViewColumn } from './table-view.ts'
import { ViewMenu } from './table-view-menu.tsx'
import { useVisibleRows } from './visible-rows.ts'
import { useColumnWidths, useOverflow } from './widths.ts'

export interface Column<Row> extends ViewColumn {
  readonly cell: (row: Row) => ReactNode
  /** Numbers are on the right. */
  readonly align?: 'right'
  readonly sortable?: boolean
}

const ACTIONS = 'actions'

/** The last column, with the menu or the buttons of a row. */
export function actionsColumn<Row>(cell: Column<Row>['cell']): Column<Row> {
  return { id: ACTIONS, header: <span className="sr-only">Actions</span>, align: 'right', cell }
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
  const shown = useMemo(() => shownOf(columns, view), [columns, view])
  if (props.rows.length === 0) return props.empty ?? <Empty title="Nothing here yet" />
  const seen = { ...props, columns: shown, density: view.density ?? density }
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

/** Of a row with one line, in CSS pixels. */
const ROW_HEIGHTS = { compact: 36, comfortable: 44 } as const

function Grid<Row>(props: TableProps<Row>) {
  const { label, columns, rows, rowKey, rowHref, totals, className, density = 'compact' } = props
  const frame = useRef<HTMLDivElement>(null)
  const body = useRef<HTMLTableSectionElement>(null)
  const overflows = useOverflow(frame)
  const { slots, isPartial, ...list } = useVisibleRows(body, { rows, rowKey, rowHeight: ROW_HEIGHTS[density] })
  const widths = useColumnWidths(frame, { isFixed: isPartial, columns, density, slots })
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
      <table
        aria-rowcount={isPartial ? rows.length + 1 : undefined}
        className={classNames('w-full border-separate border-spacing-0', widths && 'table-fixed')}
      >
        <caption className="sr-only">{label}</caption>
        <Header table={props} widths={widths} isPinned={overflows} />
        <tbody ref={body} onFocus={list.onFocus}>
          {slots.map((slot) =>
            'row' in slot ? (
              <GridRow
                key={slot.key}
                row={slot.row}
                columns={columns}
                rowHref={rowHref}
                density={density}
                isPinned={overflows}
                index={isPartial ? slot.index : undefined}
                measure={list.measure}
              />
            ) : (
              // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
              <tr key={slot.key} aria-hidden="true">
                <td style={{ height: slot.height }} className="p-0" />
              </tr>
            ),
          )}
        </tbody>
        {totals !== undefined && <Totals columns={columns} totals={totals} />}
      </table>
    </div>
  )
}

interface HeaderProps<Row> {
  readonly table: TableProps<Row>
  readonly widths: ReadonlyMap<string, number> | undefined
  readonly isPinned: boolean
}

function Header<Row>({ table: { columns, sort, onSort }, widths, isPinned }: HeaderProps<Row>) {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <HeaderCell
            key={column.id}
            column={column}
            sort={sort}
            onSort={onSort}
            pinned={isPinned ? pinOf(column, columns) : undefined}
            width={widths?.get(column.id)}
          />
        ))}
      </tr>
    </thead>
  )
}

interface HeaderCellProps<Row> {
  readonly column: Column<Row>
  readonly sort: Sort | undefined
  readonly onSort: ((sort: Sort) => void) | undefined
  readonly pinned: string | undefined
  /** In CSS pixels, where it is fixed. */
  readonly width: number | undefined
}

/** What names a row and what can be done with it stays where it is while the others are scrolled. */
function pinOf<Row>(column: Column<Row>, columns: readonly Column<Row>[]): string | undefined {
  if (column === primaryOf(columns)) return 'left-0 shadow-[1px_0_0_var(--line)]'
  return column.id === ACTIONS ? 'right-0 shadow-[-1px_0_0_var(--line)]' : undefined
}

function HeaderCell<Row>({ column, sort, onSort, pinned, width }: HeaderCellProps<Row>) {
  const { id, header, align, sortable } = column
  const direction = sort?.id === id ? sort.direction : undefined
  const canSort = sortable === true && onSort !== undefined
  return (
    <th
      scope="col"
      data-column={id}
      style={{ width }}
      aria-sort={ariaSort(canSort, direction)}
      className={classNames(
        'sticky top-(--sticky-top,0px) z-10 h-9 border-b border-line bg-sunken px-3 text-xs font-medium whitespace-nowrap text-soft first:rounded-tl-xl first:pl-4 last:rounded-tr-xl last:pr-4',
        align === 'right' ? 'text-right' : 'text-left',
        pinned && `z-20 ${pinned}`,
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

interface RowProps<Row> {
  readonly row: Row
  readonly columns: readonly Column<Row>[]
  readonly rowHref: TableProps<Row>['rowHref'] | undefined
  /** In the whole list, where only a part of it is rendered. */
  readonly index: number | undefined
  readonly measure: ((element: HTMLElement | null) => void) | undefined
}

interface GridRowProps<Row> extends RowProps<Row> {
  readonly density: Density
  /** Whether the columns that name the row and act on it stay in sight. */
  readonly isPinned: boolean
}

/** Rendered again only when its row changes, as long as `columns` and `rowHref` are the same objects. */
const GridRow = memo(PlainRow) as typeof PlainRow

function PlainRow<Row>({ row, columns, rowHref, density, isPinned, index, measure }: GridRowProps<Row>) {
  const target = rowHref?.(row)
  const primary = primaryOf(columns)
  const pinned = (column: Column<Row>) => (isPinned ? pinOf(column, columns) : undefined)
  return (
    <tr
      ref={measure}
      data-index={index}
      aria-rowindex={index === undefined ? undefined : index + 2}
      className={classNames('group', target !== undefined && 'linked-row hover:bg-hover')}
    >
      {columns.map((column) => (
        <td
          key={column.id}
          className={classNames(
            pinned(column) && `sticky z-2 bg-surface group-hover:bg-hover ${pinned(column)}`,
            'border-b border-line px-3 text-ink group-last:border-b-0 first:pl-4 last:pr-4',
            density === 'compact' ? 'h-9 py-1' : 'h-11 py-2',
            column.align === 'right' && 'text-right whitespace-nowrap tabular-nums',
            hiding(column),
          )}
        >
          <RowLink target={column === primary ? target : undefined}>{column.cell(row)}</RowLink>
          {isPinned && target !== undefined && column === columns.find((other) => other !== primary) && (
            <AppLink {...target} aria-hidden tabIndex={-1} className="row-link" />
          )}
        </td>
      ))}
    </tr>
  )
}

export interface RowLinkProps {
  readonly target: LinkTarget | undefined
  readonly children: ReactNode
}

/** The link that covers its row, or only what would be in it. That of a pinned cell covers the cell alone. */
function RowLink({ target, children }: RowLinkProps) {
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

/** Of a card until it is measured, and between two cards (`gap-2`), in CSS pixels. */
const CARD_HEIGHT = 240
const CARD_GAP = 8

/** One card a row, with the headers as labels, for narrow windows. */
function Cards<Row>(props: TableProps<Row>) {
  const { label, columns, rows, rowKey, rowHref, totals, className } = props
  const element = useRef<HTMLUListElement>(null)
  const list = useVisibleRows(element, { rows, rowKey, rowHeight: CARD_HEIGHT, gap: CARD_GAP })
  const shown = columns.filter(({ id }) => totals?.[id] !== undefined)
  return (
    <div className={className}>
      <ul ref={element} aria-label={label} onFocus={list.onFocus} className="flex flex-col gap-2">
        {list.slots.map((slot) =>
          'row' in slot ? (
            <RowCard
              key={slot.key}
              row={slot.row}
              columns={columns}
              rowHref={rowHref}
              index={slot.index}
              measure={list.measure}
            />
          ) : (
            <li key={slot.key} aria-hidden="true" style={{ height: slot.height }} className="shrink-0" />
          ),
        )}
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

function RowCard<Row>({ row, columns, rowHref, index, measure }: RowProps<Row>) {
  const target = rowHref?.(row)
  const primary = primaryOf(columns)
  const others = columns.filter((column) => column !== primary && isInCards(column))
  return (
    <li
      ref={measure}
      data-index={index}
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
