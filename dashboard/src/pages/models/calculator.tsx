import { formatCompact, formatUsd } from '../../lib/format.ts'
import { NumberField } from '../../ui/form/field.tsx'
import { FactRow, isVaried } from './fact-row.tsx'
import type { ModelRow } from './models-table.tsx'
import { DAYS_PER_MONTH, type Estimate, estimate } from './tariff.ts'

/** As they stand in the address; undefined: not given. */
export interface Consumed {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly cached: number | undefined
}

/** What is reckoned with where nothing is given. */
export const USUAL = { input: 1_000_000, output: 100_000, cached: 0 } as const
const MOST_TOKENS = 1_000_000_000_000

export interface CalculatorProps {
  readonly consumed: Consumed
  readonly onChange: (changes: Partial<Consumed>) => void
}

export function Calculator({ consumed, onChange }: CalculatorProps) {
  return (
    <fieldset>
      <legend className="mb-2 font-medium text-ink">Estimate cost</legend>
      <div className="grid gap-3 sm:grid-cols-3">
        <NumberField
          label="Input tokens a day"
          whole
          min={0}
          max={MOST_TOKENS}
          suffix={formatCompact(consumed.input ?? USUAL.input)}
          value={consumed.input ?? USUAL.input}
          onChange={(input) => onChange({ input })}
        />
        <NumberField
          label="Output tokens a day"
          whole
          min={0}
          max={MOST_TOKENS}
          suffix={formatCompact(consumed.output ?? USUAL.output)}
          value={consumed.output ?? USUAL.output}
          onChange={(output) => onChange({ output })}
        />
        <NumberField
          label="Input read from cache"
          suffix="%"
          whole
          min={0}
          max={100}
          value={consumed.cached ?? USUAL.cached}
          onChange={(cached) => onChange({ cached })}
        />
      </div>
    </fieldset>
  )
}

/** At the top of the comparison. */
export function CalculatorRows({
  models,
  consumed,
}: {
  readonly models: readonly ModelRow[]
  readonly consumed: Consumed
}) {
  const { input = USUAL.input, output = USUAL.output, cached = USUAL.cached } = consumed
  const costs = models.map(({ pricing }) =>
    pricing === null ? undefined : estimate({ input, output, cached }, pricing),
  )
  const row = (label: string, field: keyof Estimate) => {
    const texts = costs.map((cost) => (cost === undefined ? 'Not priced' : formatUsd(cost[field])))
    const values = models.map(({ id }, index) => [id, texts[index]] as const)
    return <FactRow label={label} isStrong differs={isVaried(texts)} values={values} />
  }
  return (
    <>
      {row('A day', 'dayUsd')}
      {row(`${DAYS_PER_MONTH} days`, 'monthUsd')}
    </>
  )
}
