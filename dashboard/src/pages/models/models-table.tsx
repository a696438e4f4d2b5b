import type { ListedModel } from '../../api/models.ts'
import { formatCompact, formatPrice } from '../../lib/format.ts'
import { CopyableText } from '../../ui/copy.tsx'
import { BELOW_MD, useMediaQuery } from '../../ui/media-query.ts'
import { StatusChip } from '../../ui/status.tsx'
import { type Column, type Sort, Table } from '../../ui/table/table.tsx'
import { useNow } from '../../ui/time-zone.ts'
import { Tooltip } from '../../ui/tooltip.tsx'
import { Dash } from '../../ui/values.tsx'
import { Capabilities } from './capabilities.tsx'
import { firstTokenText, NO_CALLS, type Row, uptimeText } from './listing.ts'
import type { Speeds } from './queries.ts'
import { MAX_COMPARED } from './search.ts'
import { originText, RETIRES_SOON_MS, retirementOf } from './words.ts'

export type ModelRow = Row<ListedModel>

export interface ModelsTableProps {
  readonly rows: readonly ModelRow[]
  /** Undefined: not known yet. */
  readonly speeds: Speeds | undefined
  readonly sort: Sort | undefined
  readonly onSort: (sort: Sort) => void
  readonly compared: readonly string[]
  readonly onToggle: (id: string) => void
  readonly empty: React.ReactNode
}

export function ModelsTable({ rows, speeds, compared, onToggle, ...rest }: ModelsTableProps) {
  const isCards = useMediaQuery(BELOW_MD)
  const isWide = useMediaQuery('(width >= 96rem)') || isCards
  const isRoomy = useMediaQuery('(width >= 90rem)') || isCards
  return (
    <Table
      {...rest}
      label="Models"
      viewId="models"
      className="[&_td]:px-2 [&_th]:px-2"
      columns={columns({ speeds, compared, onToggle, isWide, isRoomy })}
      // where the table scrolls sideways, its head stays at the top of what scrolls
      rows={rows}
      rowKey={({ id }) => id}
      rowHref={({ id }) => ({ to: '/models/$', params: { _splat: id } })}
    />
  )
}

interface ColumnOptions extends Pick<ModelsTableProps, 'speeds' | 'compared' | 'onToggle'> {
  /** Whether there is room for all columns, and whether for all but one. */
  readonly isWide: boolean
  readonly isRoomy: boolean
}

function columns(options: ColumnOptions): readonly Column<ModelRow>[] {
  return [...namingColumns(options), ...priceColumns, ...limitColumns(options), ...measuredColumns(options)]
}

function namingColumns({ compared, onToggle, isWide }: ColumnOptions): readonly Column<ModelRow>[] {
  const owner: Column<ModelRow> = { id: 'owner', header: 'Made by', sortable: true, cell: (model) => model.owned_by }
  return [
    {
      id: 'compare',
      header: <span className="md:sr-only">Compare</span>,
      cell: ({ id }) => <CompareBox id={id} compared={compared} onToggle={onToggle} />,
    },
    { id: 'copy', header: <span className="md:sr-only">ID</span>, cell: ({ id }) => <CopyId id={id} /> },
    { id: 'id', header: 'Model', sortable: true, primary: true, cell: (model) => <Name model={model} /> },
    ...(isWide ? [owner] : []),
  ]
}

const priceColumns: readonly Column<ModelRow>[] = [
  { id: 'input', header: 'Input', align: 'right', sortable: true, cell: (model) => <InputPrice model={model} /> },
  {
    id: 'output',
    header: 'Output',
    align: 'right',
    sortable: true,
    cell: (model) => price(model, 'output_per_million'),
  },
  {
    id: 'cached',
    header: 'Cached',
    align: 'right',
    sortable: true,
    cell: (model) => price(model, 'cached_input_per_million'),
  },
]

function limitColumns({ isRoomy }: ColumnOptions): readonly Column<ModelRow>[] {
  const maxOutput: Column<ModelRow> = {
    id: 'max_output',
    header: 'Max output',
    align: 'right',
    sortable: true,
    cell: ({ max_output_tokens: tokens }) => (tokens === null ? <Dash /> : formatCompact(tokens)),
  }
  return [
    {
      id: 'context',
      header: 'Context',
      align: 'right',
      sortable: true,
      cell: ({ context_window: tokens }) => formatCompact(tokens),
    },
    ...(isRoomy ? [maxOutput] : []),
    {
      id: 'capabilities',
      header: 'Capabilities',
      cell: (model) => <Capabilities model={model} isShort className="max-md:justify-end md:w-max md:flex-nowrap" />,
    },
  ]
}

function measuredColumns({ speeds }: ColumnOptions): readonly Column<ModelRow>[] {
  return [
    {
      id: 'first_token',
      header: <span title="Time to first token: the median of your streams of the last 24 hours">TTFT p50</span>,
      align: 'right',
      sortable: true,
      cell: ({ id }) => firstTokenText(speeds, id) ?? <Dash />,
    },
    {
      id: 'success',
      header: <span title="Success rate of your requests of the last 24 hours">Uptime</span>,
      align: 'right',
      sortable: true,
      cell: ({ id }) => <Uptime text={uptimeText(speeds, id)} />,
    },
  ]
}

function Uptime({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return <Dash />
  return text === NO_CALLS ? <span className="text-soft">{text}</span> : text
}

type PriceField = 'output_per_million' | 'cached_input_per_million'

function price(model: ListedModel, field: PriceField) {
  const usd = model.pricing?.[field]
  return usd === undefined ? <Dash /> : <span title={originText(model)}>{formatPrice(usd)}</span>
}

function InputPrice({ model }: { readonly model: ListedModel }) {
  const { pricing, price_overridden: isOverridden } = model
  if (pricing === null) return <StatusChip tone="neutral">Not priced</StatusChip>
  return (
    <span title={originText(model)} className="whitespace-nowrap">
      {isOverridden && <span className="mr-1.5 rounded bg-info-soft px-1 py-0.5 text-xs text-info">Overridden</span>}
      {formatPrice(pricing.input_per_million)}
    </span>
  )
}

function Name({ model: { id, name, deprecation_date: date } }: { readonly model: ListedModel }) {
  const now = useNow()
  const retirement = retirementOf(date, now)
  const isNear = date !== null && Date.parse(date) - now < RETIRES_SOON_MS
  return (
    <>
      <span title={name} className="font-mono text-sm break-all md:whitespace-nowrap">
        {id}
      </span>
      {retirement !== undefined && isNear && (
        <span className={`block text-xs font-normal ${retirement.isOver ? 'text-bad' : 'text-warn'}`}>
          {retirement.text}
        </span>
      )}
    </>
  )
}

function CopyId({ id }: { readonly id: string }) {
  return <CopyableText text={id}>{''}</CopyableText>
}

/** Of the element that says why no more can be chosen; it is there when so many are. */
export const FULL_ID = 'compare-full'
export const FULL_TEXT = `You can compare at most ${MAX_COMPARED} models. Remove one first.`

interface CompareBoxProps {
  readonly id: string
  readonly compared: readonly string[]
  readonly onToggle: (id: string) => void
}

/** Chooses a model for the comparison. When it cannot, it still takes the focus, so that it can say why. */
function CompareBox({ id, compared, onToggle }: CompareBoxProps) {
  const isChosen = compared.includes(id)
  const isFull = !isChosen && compared.length >= MAX_COMPARED
  const box = (
    <input
      type="checkbox"
      aria-label={`Compare ${id}`}
      aria-disabled={isFull || undefined}
      aria-describedby={isFull ? FULL_ID : undefined}
      checked={isChosen}
      onChange={isFull ? ignore : () => onToggle(id)}
      className="m-1 size-4 shrink-0 cursor-pointer align-middle accent-accent aria-disabled:cursor-not-allowed aria-disabled:opacity-50"
    />
  )
  return isFull ? <Tooltip label={FULL_TEXT}>{box}</Tooltip> : box
}

function ignore(): void {}
