import type { ReactNode } from 'react'
import { AppLink, type LinkTarget } from '../../ui/app-link.tsx'
import { CardTitle } from '../../ui/page.tsx'

export interface PanelProps {
  readonly children: ReactNode
}

/** A card whose rows go from edge to edge. */
export function Panel({ children }: PanelProps) {
  return <div className="@container min-w-0 rounded-xl border border-line bg-surface">{children}</div>
}

/** The items of a panel: in as many columns as it has room and items for. Lines above them divide the rows. */
export function panelGrid(count: number): string {
  const columns = count === 2 || count === 4 ? '@2xl:grid-cols-2' : '@2xl:grid-cols-2 @4xl:grid-cols-3'
  return `grid overflow-hidden *:border-t *:border-line ${count === 1 ? '' : columns}`
}

export interface PanelHeadProps {
  /** Names the list below. */
  readonly id: string
  readonly title: string
  readonly more: LinkTarget & { readonly label: string }
}

export function PanelHead({ id, title, more: { label, ...target } }: PanelHeadProps) {
  return (
    <div className="flex flex-wrap items-baseline justify-between gap-x-4 px-4 py-3">
      <CardTitle id={id}>{title}</CardTitle>
      <MoreLink {...target}>{label}</MoreLink>
    </div>
  )
}

export function MoreLink({ children, ...target }: LinkTarget & PanelProps) {
  return (
    <AppLink {...target} className="rounded-sm py-0.5 text-sm font-medium text-accent hover:underline">
      {children}
    </AppLink>
  )
}
