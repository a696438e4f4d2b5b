import type { ReactNode } from 'react'
import { classNames } from './class-names.ts'

export interface DetailsItem {
  readonly label: string
  readonly value: ReactNode
}

/** Names and values, one pair a line; below each other where it is narrow. */
export function Details({ items, className }: { readonly items: readonly DetailsItem[]; readonly className?: string }) {
  return (
    <dl className={classNames('divide-y divide-line', className)}>
      {items.map(({ label, value }) => (
        <div key={label} className="grid gap-x-4 py-2 sm:grid-cols-[minmax(7rem,2fr)_minmax(0,5fr)]">
          <dt className="text-soft">{label}</dt>
          <dd className="min-w-0 break-words text-ink">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
