/** The table of the comparison: it scrolls within itself, and marks the rows in which its models differ. */
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { EqualNot, X } from 'lucide-react'
import type { MouseEvent, ReactNode } from 'react'
import { useCan } from '../../api/me.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { Dash } from '../../ui/values.tsx'
import { CalculatorRows, type Consumed } from './calculator.tsx'
import { FACTS, type Fact, measuredFacts } from './compared-facts.tsx'
import { FactRow, isVaried } from './fact-row.tsx'
import type { ModelRow } from './models-table.tsx'
import { type Speeds, speedsQuery, weekSpeedsQuery } from './queries.ts'

/** With one model beside it, as wide as the narrowest telephone leaves room for. */
const LABELS_REM = 8.5

export interface SideBySideProps {
  readonly models: readonly ModelRow[]
  readonly consumed: Consumed
  readonly onRemove: (id: string) => void
}

export function SideBySide({ models, consumed, onRemove }: SideBySideProps) {
  const mayMeasure = useCan('usage:read')
  const day = useQuery({ ...speedsQuery, enabled: mayMeasure })
  const week = useQuery({ ...weekSpeedsQuery, enabled: mayMeasure })
  return (
    <div className="flex flex-col gap-2">
      <Scrolling>
        <table
          style={{ minWidth: `${LABELS_REM + 9 * models.length}rem` }}
          className="w-full table-fixed border-collapse text-left"
        >
          <caption className="sr-only">Models side by side</caption>
          <thead>
            <tr className="bg-sunken">
              <td style={{ width: `${LABELS_REM}rem` }} className="sticky left-0 bg-sunken px-3" />
              {models.map((model) => (
                <ModelHead key={model.id} model={model} onRemove={onRemove} />
              ))}
            </tr>
          </thead>
          <tbody>
            <CalculatorRows models={models} consumed={consumed} />
            <FactRows facts={FACTS} models={models} />
            {mayMeasure && <FactRows facts={measuredFacts({ day: day.data, week: week.data })} models={models} />}
          </tbody>
        </table>
      </Scrolling>
      {models.length > 1 && (
        <p className="text-sm text-soft">
          <EqualNot aria-hidden className="mr-1 inline size-3.5 text-accent" />
          <span className="sr-only">“Differs”</span> marks what is not the same for all of them.
        </p>
      )}
      {mayMeasure && <Measuring queries={[day, week]} />}
    </div>
  )
}

function Scrolling({ children }: { readonly children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <section> would be one landmark more in a dialog
    <div
      role="group"
      aria-label="Comparison"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without it, what is beyond the edge is out of the keyboard's reach
      tabIndex={0}
      className="overflow-x-auto rounded-xl border border-line"
    >
      {children}
    </div>
  )
}

interface ModelHeadProps extends Pick<SideBySideProps, 'onRemove'> {
  readonly model: ModelRow
}

function ModelHead({ model: { id, name }, onRemove }: ModelHeadProps) {
  const remove = ({ currentTarget }: MouseEvent) => {
    currentTarget.closest<HTMLElement>('[data-dialog-body]')?.focus() // the button goes with its model
    onRemove(id)
  }
  return (
    <th scope="col" abbr={name} className="px-3 py-2 align-top font-medium text-ink">
      <div className="flex items-start justify-between gap-1">
        <AppLink to="/models/$" params={{ _splat: id }} className="min-w-0 wrap-anywhere hover:underline">
          {name}
        </AppLink>
        <IconButton label={`Remove ${id}`} icon={X} size="sm" onClick={remove} className="-mt-1 -mr-2" />
      </div>
      <span className="block font-mono text-xs font-normal break-all text-soft">{id}</span>
    </th>
  )
}

function FactRows({ facts, models }: { readonly facts: readonly Fact[]; readonly models: readonly ModelRow[] }) {
  return facts.map(({ label, text, cell = (model) => text(model) ?? <Dash /> }) => (
    <FactRow
      key={label}
      label={label}
      differs={isVaried(models.map(text))}
      values={models.map((model) => [model.id, cell(model)])}
    />
  ))
}

/** Why measured rows are empty, or of what they are. */
function Measuring({ queries }: { readonly queries: readonly UseQueryResult<Speeds>[] }) {
  const failed = queries.filter(({ data, isError }) => data === undefined && isError)
  if (failed.length > 0)
    return (
      <p role="alert" className="text-sm text-soft">
        How these models fared could not be read.{' '}
        <Button size="sm" onClick={() => failed.forEach((query) => void query.refetch())}>
          Try again
        </Button>
      </p>
    )
  const isSampled = queries.some(({ data }) => data?.isSampled)
  return (
    <p className="text-sm text-soft">
      Speed and uptime are those of your own requests{isSampled && ', of the newest 5,000 where there were more'}.
    </p>
  )
}
