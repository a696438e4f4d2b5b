import { Menu as Base } from '@base-ui/react/menu'
import type { LucideIcon } from 'lucide-react'
import type { ReactElement } from 'react'
import { AppLink, type LinkTarget } from './app-link.tsx'
import { classNames, OPTION, POPUP } from './class-names.ts'

export interface MenuEntry {
  readonly label: string
  readonly icon?: LucideIcon | undefined
  readonly onSelect?: (() => void) | undefined
  /** Leads there instead: a path of the dashboard, or one with what fills it. */
  readonly href?: string | LinkTarget | undefined
  readonly danger?: boolean | undefined
  readonly disabled?: boolean | undefined
  /** Why it is disabled, or what it is about. */
  readonly hint?: string | undefined
}

export interface MenuProps {
  readonly label: string
  /** A `Button` or an `IconButton`. */
  readonly trigger: ReactElement
  readonly items: readonly MenuEntry[]
  readonly align?: 'start' | 'end'
}

export function Menu({ label, trigger, items, align = 'end' }: MenuProps) {
  return (
    <Base.Root modal={false}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner align={align} sideOffset={4} className="z-60">
          <Base.Popup aria-label={label} className={classNames(POPUP, 'min-w-44')}>
            {items.map((item) => (
              <Entry key={item.label} item={item} />
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

function Entry({ item }: { readonly item: MenuEntry }) {
  const { label, href, danger = false, disabled = false, onSelect } = item
  const looks = classNames(OPTION, danger && !disabled && 'text-bad')
  if (href !== undefined && !disabled) {
    const target = typeof href === 'string' ? { to: href } : href
    return (
      <Base.LinkItem label={label} closeOnClick render={<AppLink {...target} />} className={looks}>
        <EntryText item={item} />
      </Base.LinkItem>
    )
  }
  return (
    <Base.Item label={label} disabled={disabled} onClick={onSelect} className={looks}>
      <EntryText item={item} />
    </Base.Item>
  )
}

function EntryText({ item: { label, icon: Icon, hint } }: { readonly item: MenuEntry }) {
  return (
    <>
      {Icon !== undefined && <Icon aria-hidden className="size-4 shrink-0" />}
      <span className="min-w-0">
        <span className="block">{label}</span>
        {hint !== undefined && <span className="block max-w-xs text-sm text-soft">{hint}</span>}
      </span>
    </>
  )
}
