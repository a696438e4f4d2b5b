import type { ReactNode } from 'react'
import { AppLink, type LinkTarget } from '../../ui/app-link.tsx'
import { CardTitle } from '../../ui/page.tsx'

export interface PanelProps {
  readonly children: ReactNode
}

/** A card whose rows go from edge to edge. */
export function Panel({ children }: PanelProps) {
  return <div className="min-w-0 rounded-xl border border-line bg-surface">{children}</div>
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
