import { Tabs as Base } from '@base-ui/react/tabs'
import type { ReactNode } from 'react'
import { formatCount } from '../lib/format.ts'
import { classNames } from './class-names.ts'

export interface TabItem<Value extends string> {
  readonly value: Value
  readonly label: string
  readonly count?: number | undefined
}

export interface TabsProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly onChange: (value: Value) => void
  readonly items: readonly TabItem<Value>[]
  /** What the chosen tab shows, tied to it for screen readers. */
  readonly children?: ReactNode
  readonly className?: string | undefined
}

export function Tabs<Value extends string>({ label, value, onChange, items, children, className }: TabsProps<Value>) {
  return (
    <Base.Root value={value} onValueChange={(next: Value) => onChange(next)} className={className}>
      <Base.List
        aria-label={label}
        activateOnFocus
        className="flex gap-4 overflow-x-auto border-b border-line px-0.5 [scrollbar-width:none]"
      >
        {items.map((item) => (
          <Base.Tab
            key={item.value}
            value={item.value}
            className={classNames(
              '-mb-px flex h-9 shrink-0 items-center gap-1.5 border-b-2 border-transparent px-0.5 text-base font-medium text-soft -outline-offset-2',
              'hover:text-ink data-active:border-accent data-active:text-ink',
            )}
          >
            {item.label}
            {item.count !== undefined && (
              <span className="rounded-full bg-sunken px-1.5 text-xs text-soft tabular-nums">
                {formatCount(item.count)}
              </span>
            )}
          </Base.Tab>
        ))}
      </Base.List>
      {children !== undefined && (
        <Base.Panel value={value} className="pt-4">
          {children}
        </Base.Panel>
      )}
    </Base.Root>
  )
}
