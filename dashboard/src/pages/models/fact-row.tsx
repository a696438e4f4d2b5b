import { EqualNot } from 'lucide-react'
import type { ReactNode } from 'react'
import { classNames } from '../../ui/class-names.ts'

export interface FactRowProps {
  readonly label: string
  /** By the model's ID. */
  readonly values: readonly (readonly [id: string, value: ReactNode])[]
  /** Whether the models are not alike in it. */
  readonly differs: boolean
  readonly isStrong?: boolean
}

/** One quality of the models that stand side by side. */
export function FactRow({ label, values, differs, isStrong = false }: FactRowProps) {
  const ground = differs ? 'bg-sunken' : 'bg-surface'
  return (
    <tr className={classNames('border-t border-line', ground)}>
      <th scope="row" className={`sticky left-0 px-3 py-2 align-top text-sm font-normal text-soft ${ground}`}>
        <span className="flex justify-between gap-1">
          {label}
          {differs && (
            <>
              <EqualNot aria-hidden className="mt-0.5 size-3.5 shrink-0 text-accent" />
              <span className="sr-only"> (differs)</span>
            </>
          )}
        </span>
      </th>
      {values.map(([id, value]) => (
        <td
          key={id}
          className={classNames(
            'px-3 py-2 align-top wrap-anywhere tabular-nums',
            (isStrong || differs) && 'font-medium text-ink',
          )}
        >
          {value}
        </td>
      ))}
    </tr>
  )
}

/** Whether these texts, one of each model, are not all the same. */
export function isVaried(texts: readonly (string | undefined)[]): boolean {
  return new Set(texts).size > 1
}
