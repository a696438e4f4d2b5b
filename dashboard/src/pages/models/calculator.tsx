import { formatCompact, formatUsd } from '../../lib/format.ts'
import { NumberField } from '../../ui/field.tsx'
import { DAYS_PER_MONTH, estimate } from './estimate.ts'
import { FactRow } from './fact-row.tsx'
import type { ModelRow } from './models-table.tsx'

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
      <legend className="mb-2 font-medium text-ink">What would it cost?</legend>
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
  const costs = models.map(({ id, pricing }) => ({
    id,
    cost: pricing === null ? undefined : estimate({ input, output, cached }, pricing),
  }))
  return (
    <>
      <FactRow
        label="A day"
        isStrong
        values={costs.map(({ id, cost }) => [id, cost === undefined ? 'Not priced' : formatUsd(cost.dayUsd)])}
      />
      <FactRow
        label={`${DAYS_PER_MONTH} days`}
        isStrong
        values={costs.map(({ id, cost }) => [id, cost === undefined ? 'Not priced' : formatUsd(cost.monthUsd)])}
      />
    </>
  )
}
