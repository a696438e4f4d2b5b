/** The frame of a view: its title, its sections, its cards. */
import { TrendingDown, TrendingUp } from 'lucide-react'
import { type ComponentPropsWithRef, type ReactNode, useEffect, useId } from 'react'
import { formatPercent } from '../lib/format.ts'
import { AppLink, type LinkTarget } from './app-link.tsx'
import { classNames } from './class-names.ts'

export interface PageProps {
  /** The heading, and the title of the browser's tab. */
  readonly title: string
  readonly description?: ReactNode
  readonly actions?: ReactNode
  /** What this page belongs to, above the title. */
  readonly parent?: LinkTarget & { readonly label: string }
  readonly children: ReactNode
  /** As wide as the window: for tables with many columns. */
  readonly wide?: boolean
}

export function Page({ title, description, actions, parent, children, wide = false }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Turnpike`
  }, [title])
  return (
    <div className={classNames('mx-auto w-full', wide ? 'max-w-[120rem]' : 'max-w-6xl')}>
      {parent !== undefined && <ParentLink {...parent} />}
      <header className="mb-6 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="max-w-full min-w-0">
          <h1 className="text-xl font-semibold tracking-tight break-words text-ink">{title}</h1>
          {description !== undefined && <div className="mt-1 max-w-prose text-soft">{description}</div>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      <div className="flex flex-col gap-8">{children}</div>
    </div>
  )
}

function ParentLink({ label, ...target }: LinkTarget & { readonly label: string }) {
  return (
    <AppLink {...target} className="mb-1 inline-block py-0.5 text-sm text-soft hover:text-ink hover:underline">
      {label}
    </AppLink>
  )
}

export interface SectionProps {
  readonly title: string
  readonly description?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
  readonly className?: string
}

export function Section({ title, description, actions, children, className }: SectionProps) {
  const id = useId()
  return (
    <section aria-labelledby={id} className={classNames('min-w-0', className)}>
      <div className="mb-3 flex flex-wrap items-end justify-between gap-x-6 gap-y-2">
        <div className="min-w-0">
          <h2 id={id} className="text-lg font-semibold text-ink">
            {title}
          </h2>
          {description !== undefined && <div className="mt-0.5 max-w-prose text-soft">{description}</div>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {children}
    </section>
  )
}

export function Card({ className, ...rest }: ComponentPropsWithRef<'div'>) {
  return <div {...rest} className={classNames('rounded-xl border border-line bg-surface p-4', className)} />
}

/** The name of a card. */
export function CardTitle({ className, ...rest }: ComponentPropsWithRef<'h3'>) {
  return (
    <h3 {...rest} className={classNames('text-base font-medium text-ink', className)}>
      {rest.children}
    </h3>
  )
}

export interface StatProps {
  readonly label: string
  readonly value: ReactNode
  readonly hint?: ReactNode
  /** Change from the previous period: a ratio (0.12 is 12 % more), or what to say instead. */
  readonly change?: ReactNode
  readonly className?: string
}

/** One number with its name. */
export function Stat({ label, value, hint, change, className }: StatProps) {
  return (
    <div className={classNames('min-w-0', className)}>
      <div className="text-sm text-soft">{label}</div>
      <div className="mt-1 flex flex-wrap items-baseline gap-x-2">
        <span className="text-xl font-semibold tracking-tight text-ink tabular-nums">{value}</span>
        {change !== undefined && change !== null && <Change change={change} />}
      </div>
      {hint !== undefined && <div className="mt-0.5 text-xs text-soft">{hint}</div>}
    </div>
  )
}

/** More or less than in the period before. Whether that is good is not for a color to say. */
export function Change({ change }: { readonly change: ReactNode }) {
  if (typeof change !== 'number') return <span className="text-xs text-soft">{change}</span>
  if (!Number.isFinite(change)) return null
  const Icon = change < 0 ? TrendingDown : TrendingUp
  return (
    <span className="inline-flex items-center gap-1 text-xs text-soft tabular-nums">
      {change !== 0 && <Icon aria-hidden className="size-3.5" />}
      {change === 0 ? 'No change' : `${formatPercent(Math.abs(change))} ${change < 0 ? 'less' : 'more'}`}
    </span>
  )
}
