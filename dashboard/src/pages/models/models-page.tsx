import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCan } from '../../api/me.ts'
import { type ListedModel, modelsQuery } from '../../api/models.ts'
import { plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Forbidden, Loaded, SkeletonRows } from '../../ui/states.tsx'
import type { Sort } from '../../ui/table.tsx'
import type { Consumed } from './calculator.tsx'
import { CompareTray } from './compare-tray.tsx'
import { Comparison } from './comparison.tsx'
import { Facets } from './facets.tsx'
import { FACETS, filtered, rowsOf, sorted } from './listing.ts'
import { ModelsTable } from './models-table.tsx'
import { speedsQuery } from './queries.ts'
import { listed, MOST_COMPARED, type ModelsSearch, readModelsSearch, SORTS } from './search.ts'
import { SearchBox } from './search-box.tsx'

export function ModelsPage() {
  const mayList = useCan('models:read')
  return (
    <Page
      title="Models & Pricing"
      description="Prices are in US dollars per million tokens. Speed and success are those of your own requests of the last 24 hours."
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
    <Empty title="No models yet" command="turnpike config validate">
      Models come with the providers that the configuration file names. Add one, and restart the gateway.
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
  const rows = rowsOf(models)
  const { sort, dir = 'asc' } = search
  const shown = sorted(filtered(rows, search), { speeds, sort, dir })
  const compared = listed(search.compare)
  const compare = (ids: readonly string[]) => change({ compare: ids.join(',') || undefined })
  const toggle = (id: string) =>
    compare(compared.includes(id) ? compared.filter((each) => each !== id) : [...compared, id].slice(0, MOST_COMPARED))
  const chooseSort = (next: Sort) => change({ sort: SORTS.find((id) => id === next.id), dir: next.direction })
  return (
    <div className="flex flex-col gap-4 [&_:is(a,button,input)]:scroll-mb-20">
      <div className="flex flex-wrap items-center gap-2">
        <SearchBox value={search.q ?? ''} onChange={(q) => change({ q: q || undefined }, true)} />
        <Facets rows={rows} search={search} onChange={(changes) => change(changes)} />
        <p role="status" className="ml-auto text-sm text-soft tabular-nums">
          {shown.length === rows.length
            ? plural(rows.length, 'model')
            : `${shown.length} of ${plural(rows.length, 'model')}`}
        </p>
      </div>
      <ModelsTable
        rows={shown}
        speeds={speeds}
        sort={sort && { id: sort, direction: dir }}
        onSort={chooseSort}
        compared={compared}
        onToggle={toggle}
        empty={<NoneFits onClear={() => change(withoutFilters)} />}
      />
      <CompareTray
        ids={compared}
        onRemove={toggle}
        onClear={() => compare([])}
        onOpen={() => change({ view: 'compare' })}
      />
      <Comparison
        open={search.view === 'compare'}
        onOpenChange={(open) => change({ view: open ? 'compare' : undefined })}
        models={compared.flatMap((id) => rows.find((row) => row.id === id || row.aliases.includes(id)) ?? [])}
        speeds={speeds}
        consumed={consumedOf(search)}
        onConsumed={(changes) => change(textsOf(changes), true)}
      />
    </div>
  )
}

const withoutFilters = Object.fromEntries(['q', ...FACETS].map((name) => [name, undefined]))

function NoneFits({ onClear }: { readonly onClear: () => void }) {
  return (
    <Empty title="No model fits" action={<Button onClick={onClear}>Clear filters</Button>}>
      Nothing here has all that is searched for and chosen above.
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
