/** Filters of a list: the button that opens their form, and one chip for each filter that is set. */
import { Popover } from '@base-ui/react/popover'
import { ListFilter, X } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Button } from '../button.tsx'
import { classNames } from '../class-names.ts'

interface FilterPopoverProps {
  readonly title: string
  readonly description?: string
  /** CSS class of its width. */
  readonly width: string
  /** The form. @param close Closes the popover. */
  readonly children: (close: () => void) => ReactNode
}

export function FilterPopover({ title, description, width, children }: FilterPopoverProps) {
  const [open, setOpen] = useState(false)
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger render={<Button icon={ListFilter}>Filter</Button>} />
      <Popover.Portal>
        <Popover.Positioner sideOffset={4} align="start" className="z-50">
          <Popover.Popup
            className={classNames(
              'max-h-(--available-height) max-w-(--available-width) overflow-y-auto rounded-xl border border-line bg-surface p-4 shadow-popup',
              width,
            )}
          >
            <Popover.Title className="font-medium text-ink">{title}</Popover.Title>
            {description !== undefined && (
              <Popover.Description className="text-sm text-soft">{description}</Popover.Description>
            )}
            <div className="mt-3">{children(() => setOpen(false))}</div>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

export interface FilterChip<Name extends string> {
  readonly name: Name
  readonly label: string
  readonly value: string
}

interface FilterChipsProps<Name extends string> {
  readonly chips: readonly FilterChip<Name>[]
  readonly onRemove: (name: Name) => void
  readonly onClear: () => void
}

/** A click removes a filter. */
export function FilterChips<Name extends string>({ chips, onRemove, onClear }: FilterChipsProps<Name>) {
  if (chips.length === 0) return null
  return (
    <ul aria-label="Filters" className="flex min-w-0 flex-wrap items-center gap-2">
      {chips.map(({ name, label, value }) => (
        <li key={name} className="max-w-full">
          <button
            type="button"
            onClick={() => onRemove(name)}
            className="inline-flex h-8 max-w-full items-center gap-1.5 rounded-full border border-line bg-accent-soft pr-2 pl-3 text-sm text-ink hover:border-strong"
          >
            <span className="sr-only">Remove filter</span>
            <span className="text-soft">{label}</span>
            <span className="truncate font-medium">{value}</span>
            <X aria-hidden className="size-3.5 shrink-0 text-soft" />
          </button>
        </li>
      ))}
      {chips.length > 1 && (
        <li>
          <Button variant="ghost" size="sm" onClick={onClear}>
            Clear all
          </Button>
        </li>
      )}
    </ul>
  )
}
