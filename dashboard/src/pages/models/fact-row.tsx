import type { ReactNode } from 'react'

export interface FactRowProps {
  readonly label: string
  /** By the model's ID. */
  readonly values: readonly (readonly [id: string, value: ReactNode])[]
  readonly isStrong?: boolean
}

/** One quality of the models that stand side by side. */
export function FactRow({ label, values, isStrong = false }: FactRowProps) {
  return (
    <tr className="border-t border-line">
      <th scope="row" className="sticky left-0 bg-surface px-3 py-2 align-top text-sm font-normal text-soft">
        {label}
      </th>
      {values.map(([id, value]) => (
        <td key={id} className={`px-3 py-2 align-top wrap-anywhere tabular-nums ${isStrong ? 'font-medium' : ''}`}>
          {value}
        </td>
      ))}
    </tr>
  )
}
