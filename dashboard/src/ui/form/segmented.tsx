import { useId } from 'react'
import { classNames } from '../class-names.ts'

export interface SegmentedProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly onChange: (value: Value) => void
  readonly options: readonly { readonly value: Value; readonly label: string }[]
  readonly className?: string | undefined
}

/** One of very few, in a row. Radio buttons by nature: arrow keys choose. */
export function Segmented<Value extends string>({ label, value, onChange, options, className }: SegmentedProps<Value>) {
  const name = useId()
  return (
    <fieldset
      className={classNames(
        'inline-flex max-w-full min-w-0 flex-wrap gap-0.5 rounded-lg border border-line bg-sunken p-0.5',
        className,
      )}
    >
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <label
          key={option.value}
          className="flex h-8 cursor-pointer items-center rounded-md border border-transparent px-2.5 text-sm font-medium whitespace-nowrap text-soft select-none hover:text-ink has-checked:border-line has-checked:bg-surface has-checked:text-ink has-focus-visible:outline-2 has-focus-visible:outline-focus forced-colors:has-checked:border-[Highlight]"
        >
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
            className="sr-only"
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  )
}
