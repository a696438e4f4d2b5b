/** Above a table, at its end: which of its columns are shown, and how dense it is. */
import { Menu } from '@base-ui/react/menu'
import { Check, Columns3 } from 'lucide-react'
import { isValidElement, type ReactNode } from 'react'
import { DEFAULT_VIEW, type Density, differs, type TableView, withColumn, withDensity } from '../../lib/table-view.ts'
import { Button } from '../button.tsx'
import { classNames, OPTION, POPUP } from '../class-names.ts'
import { BELOW_MD, useMediaQuery } from '../media-query.ts'
import { isInCards, primaryOf, saveTableView, useTableView, type ViewColumn } from './table-view.ts'

export interface ViewMenuProps {
  readonly id: string
  readonly label: string
  /** All there are, hidden ones as well. */
  readonly columns: readonly ViewColumn[]
  /** What the table has if nobody chooses. */
  readonly density: Density
}

export function ViewMenu(props: ViewMenuProps) {
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger
        render={
          <Button size="sm" icon={Columns3}>
            View
          </Button>
        }
      />
      <Menu.Portal>
        <Menu.Positioner align="end" sideOffset={4} className="z-60">
          <Menu.Popup aria-label={`View of ${props.label}`} className={classNames(POPUP, 'min-w-44')}>
            <Choices {...props} />
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

const DENSITIES = [
  { value: 'compact', label: 'Compact' },
  { value: 'comfortable', label: 'Comfortable' },
] as const
const LABEL = 'px-2 pt-1.5 pb-0.5 text-sm font-medium text-soft'

function Choices({ id, columns, density }: ViewMenuProps) {
  const view = useTableView(id)
  const isCards = useMediaQuery(BELOW_MD)
  const keep = (next: TableView) => saveTableView(id, next)
  return (
    <>
      <Menu.Group>
        <Menu.GroupLabel className={LABEL}>Columns</Menu.GroupLabel>
        <ColumnItems columns={columns} view={view} onChange={keep} />
      </Menu.Group>
      {!isCards && (
        <Menu.RadioGroup
          value={view.density ?? density}
          onValueChange={(value: Density) => keep(withDensity(view, value, density))}
        >
          <Menu.GroupLabel className={LABEL}>Density</Menu.GroupLabel>
          {DENSITIES.map(({ value, label }) => (
            <Menu.RadioItem key={value} value={value} label={label} className={OPTION}>
              <Mark indicator={<Menu.RadioItemIndicator render={<Check aria-hidden className="size-4" />} />} />
              {label}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
      )}
      <Menu.Separator className="my-1 border-t border-line" />
      <Menu.Item disabled={!differs(view)} onClick={() => keep(DEFAULT_VIEW)} className={OPTION}>
        <Mark />
        Reset view
      </Menu.Item>
    </>
  )
}

interface ColumnItemsProps {
  readonly columns: readonly ViewColumn[]
  readonly view: TableView
  readonly onChange: (view: TableView) => void
}

/** The column that names the row stays: it is the way to the row. */
function ColumnItems({ columns, view, onChange }: ColumnItemsProps) {
  const fits = useFitting()
  const primary = primaryOf(columns)
  return columns.map((column) => {
    const { id } = column
    const byDefault = fits(column)
    const name = textOf(column.header)
    return (
      <Menu.CheckboxItem
        key={id}
        label={name}
        checked={column === primary || (view.columns[id] ?? byDefault)}
        disabled={column === primary}
        onCheckedChange={(isShown) => onChange(withColumn(view, { id, isShown, byDefault }))}
        className={OPTION}
      >
        <Mark indicator={<Menu.CheckboxItemIndicator render={<Check aria-hidden className="size-4" />} />} />
        {name}
      </Menu.CheckboxItem>
    )
  })
}

/** As wide whether there is a mark or not. */
function Mark({ indicator }: { readonly indicator?: ReactNode }) {
  return <span className="flex size-4 shrink-0">{indicator}</span>
}

/** Tells of columns whether they are shown by themselves where the window is as wide as now. */
function useFitting(): (column: ViewColumn) => boolean {
  const isCards = useMediaQuery(BELOW_MD)
  const isBelow = { md: isCards, lg: useMediaQuery('(width < 64rem)'), '2xl': useMediaQuery('(width < 96rem)') }
  return (column) => (isCards ? isInCards(column) : column.hideBelow === undefined || !isBelow[column.hideBelow])
}

/** Headers may be marked up, or be there for screen readers alone. */
function textOf(node: ReactNode): string {
  if (Array.isArray(node)) return node.map(textOf).join('')
  if (isValidElement<{ readonly children?: ReactNode }>(node)) return textOf(node.props.children)
  return typeof node === 'string' || typeof node === 'number' ? String(node) : ''
}
