import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useCan } from '../../api/me.ts'
import { isRetired, type ListedModel, modelsQuery } from '../../api/models.ts'
import { plural } from '../../lib/format.ts'
import { announce } from '../../ui/announcer.tsx'
import { Button } from '../../ui/button.tsx'
import { SearchBox } from '../../ui/form/search-box.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Forbidden, Loaded, SkeletonRows } from '../../ui/states.tsx'
import type { Sort } from '../../ui/table/table.tsx'
import { useNow } from '../../ui/time-zone.ts'
import type { Consumed } from './calculator.tsx'
import { CompareTray, type CompareTrayProps, Comparison } from './comparison.tsx'
import { Facets } from './facets.tsx'
import { comparedOf, FACETS, filtered, rowsOf, sorted } from './listing.ts'
import { type ModelRow, ModelsTable } from './models-table.tsx'
import { speedsQuery } from './queries.ts'
import { listed, MAX_COMPARED, type ModelsSearch, readModelsSearch, SORTS } from './search.ts'

export function ModelsPage() {
  const mayList = useCan('models:read')
  return (
    <Page
      title="Models & Pricing"
      description="Prices are in US dollars per million tokens. Speed and uptime are measured on your own requests of the last 24 hours."
      wide
    >
      {mayList ? <Models /> : <Forbidden what="models" right="models:read" />}
    </Page>
  )
}

function Models() {
  const models = useQuery(modelsQuery)
  return (
    <Loaded query={models} what="models" skeleton={<SkeletonRows rows={12} />}>
      {(all) => (all.length === 0 ? <NoModels /> : <Listing models={all} />)}
    </Loaded>
  )
}

function NoModels() {
  return (
    <Empty title="No models yet" command="turnpike config check">
      Providers in the configuration file bring their models. Add a provider, and restart the gateway.
    </Empty>
  )
}

type Changes = Partial<Record<keyof ModelsSearch, string | undefined>>

/** Changes what is in the address; only what is typed or counted up replaces the present one. */
function useAddress() {
  const search = readModelsSearch(useSearch({ strict: false }))
  const navigate = useNavigate()
  const change = (changes: Changes, replace = false) =>
    void navigate({
      to: '/models',
      search: (previous) => readModelsSearch({ ...previous, ...changes }),
      replace,
      resetScroll: false,
    })
  return { search, change }
}

function Listing({ models }: { readonly models: readonly ListedModel[] }) {
  const { search, change } = useAddress()
  const { data: speeds } = useQuery({ ...speedsQuery, enabled: useCan('usage:read') })
  const now = useNow()
  const rows = rowsOf(models)
  const { sort, dir = 'asc' } = search
  const isFolded = search.q === undefined && search.retired === undefined
  const listedRows = isFolded ? rows.filter((row) => !isRetired(row, now)) : rows
  const shown = sorted(filtered(listedRows, search), { speeds: speeds?.byModel, sort, dir })
  const { models: chosen, unknown } = comparedOf(rows, listed(search.compare))
  const compared = chosen.map(({ id }) => id)
  const compare = (ids: readonly string[]) => {
    change({ compare: ids.join(',') || undefined })
    announce(`${plural(ids.length, 'model')} of ${MAX_COMPARED} to compare`)
  }
  const toggle = (id: string) =>
    compare(compared.includes(id) ? compared.filter((each) => each !== id) : [...compared, id].slice(0, MAX_COMPARED))
  const chooseSort = (next: Sort) => change({ sort: SORTS.find((id) => id === next.id), dir: next.direction })
  return (
    <div className="flex flex-col gap-4 [&_:is(a,button,input)]:scroll-mb-48 sm:[&_:is(a,button,input)]:scroll-mb-32">
      <Narrowing rows={listedRows} shown={shown.length} all={rows.length} search={search} change={change}>
        <RetiredSwitch
          count={filtered(rows, search).filter((row) => isRetired(row, now)).length}
          search={search}
          change={change}
        />
      </Narrowing>
      <ModelsTable
        rows={shown}
        speeds={speeds}
        sort={sort && { id: sort, direction: dir }}
        onSort={chooseSort}
        compared={compared}
        onToggle={toggle}
        empty={<NoneFits onClear={() => change(withoutFilters)} />}
      />
      <Compared models={chosen} unknown={unknown} onRemove={toggle} onClear={() => compare([])} />
    </div>
  )
}

interface NarrowingProps {
  readonly rows: readonly ModelRow[]
  /** How many of them are left. */
  readonly shown: number
  /** Those that are folded away with them. */
  readonly all: number
  readonly search: ModelsSearch
  readonly change: (changes: Changes, replace?: boolean) => void
  readonly children: ReactNode
}

function Narrowing({ rows, shown, all, search, change, children }: NarrowingProps) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchBox
        label="Search models"
        placeholder="Search by name, ID or maker"
        value={search.q ?? ''}
        onChange={(q) => change({ q: q || undefined }, true)}
        pauseMs={120}
        className="w-full sm:w-72"
      />
      <Facets rows={rows} search={search} onChange={(changes) => change(changes)} />
      {children}
      <p role="status" className="ml-auto text-sm text-soft tabular-nums">
        {shown === all ? plural(all, 'model') : `${shown} of ${plural(all, 'model')}`}
      </p>
    </div>
  )
}

interface RetiredSwitchProps extends Pick<NarrowingProps, 'search' | 'change'> {
  /** Of those that fit the filters. */
  readonly count: number
}

/** A search finds retired models anyway. */
function RetiredSwitch({ count, search: { q, retired }, change }: RetiredSwitchProps) {
  if (q !== undefined || count === 0) return null
  return (
    <Button variant="ghost" onClick={() => change({ retired: retired === undefined ? '1' : undefined })}>
      {retired === undefined ? `Show ${count} retired` : `Hide ${count} retired`}
    </Button>
  )
}

interface ComparedProps extends Pick<CompareTrayProps, 'unknown' | 'onRemove' | 'onClear'> {
  readonly models: readonly ModelRow[]
}

function Compared({ models, onClear, ...rest }: ComparedProps) {
  const { search, change } = useAddress()
  return (
    <>
      <CompareTray
        {...rest}
        ids={models.map(({ id }) => id)}
        onClear={onClear}
        onOpen={() => change({ view: 'compare' })}
      />
      <Comparison
        {...rest}
        open={search.view === 'compare'}
        onOpenChange={(open) => change({ view: open ? 'compare' : undefined })}
        models={models}
        consumed={consumedOf(search)}
        onConsumed={(changes) => change(textsOf(changes), true)}
      />
    </>
  )
}

const withoutFilters = Object.fromEntries(['q', ...FACETS].map((name) => [name, undefined]))

function NoneFits({ onClear }: { readonly onClear: () => void }) {
  return (
    <Empty title="No matching models" action={<Button onClick={onClear}>Clear filters</Button>}>
      No model matches the search and all filters.
    </Empty>
  )
}

function consumedOf({ input, output, cached }: ModelsSearch): Consumed {
  const whole = (text: string | undefined) => (text === undefined ? undefined : Math.floor(Number(text)))
  return { input: whole(input), output: whole(output), cached: whole(cached) }
}

function textsOf(changes: Partial<Consumed>): Changes {
  return Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, value?.toString()]))
}
