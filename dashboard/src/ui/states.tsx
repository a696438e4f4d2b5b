/** What stands where data is not there: not yet, not any, not for this person, or not because something went wrong. */

import { CircleAlert, Inbox, Lock, type LucideIcon, RefreshCw } from 'lucide-react'
import type { ReactNode } from 'react'
import { problemOf } from '../api/problem.ts'
import { plural } from '../lib/format.ts'
import { Button } from './button.tsx'
import { classNames } from './class-names.ts'
import { CommandBlock } from './code.tsx'
import { CopyableId } from './copy.tsx'

/** What of a query is needed: those of TanStack Query have it, and `usePages` gives it. */
export interface LoadedQuery<Data> {
  readonly data: Data | undefined
  readonly error: unknown
  readonly isFetching: boolean
  refetch(): unknown
}

export interface LoadedProps<Data> {
  readonly query: LoadedQuery<Data>
  /** As high as what comes, so that nothing moves. Seen after 200 ms. */
  readonly skeleton?: ReactNode
  /** What is loaded, for the sentence about its failure: "usage". */
  readonly what?: string
  readonly children: (data: Data) => ReactNode
}

/** What was loaded before stays while it is loaded again, and when that fails. */
export function Loaded<Data>({ query, skeleton, what, children }: LoadedProps<Data>) {
  const { data, error, isFetching } = query
  const retry = () => void query.refetch()
  if (data !== undefined) {
    return (
      <>
        {isProblem(error) && <Outdated error={error} pending={isFetching} onRetry={retry} />}
        {children(data)}
      </>
    )
  }
  if (isProblem(error)) return <Failed error={error} onRetry={retry} what={what} />
  return (
    <div aria-busy="true" className="animate-appear">
      <span className="sr-only">Loading</span>
      {skeleton ?? <SkeletonRows rows={5} />}
    </div>
  )
}

export interface EmptyProps {
  readonly icon?: LucideIcon
  readonly title: string
  /** One sentence. */
  readonly children?: ReactNode
  /** One button or link. */
  readonly action?: ReactNode
  /** One line for a terminal; `turnpike` as in `useAsTyped`. */
  readonly command?: string
  readonly className?: string
}

export function Empty({ icon = Inbox, title, children, action, command, className }: EmptyProps) {
  return (
    <Notice icon={icon} title={title} className={className}>
      {children !== undefined && <p className="text-soft">{children}</p>}
      {action}
      {command !== undefined && (
        <CommandBlock command={command} label={`Command: ${title}`} className="w-full max-w-xl text-left" />
      )}
    </Notice>
  )
}

export interface FailedProps {
  readonly error: unknown
  readonly onRetry?: (() => void) | undefined
  /** What was asked for: "usage", "this agent". */
  readonly what?: string | undefined
  readonly className?: string
}

/** Why, in plain words; the id under which the gateway's log has it; and another try. */
export function Failed({ error, onRetry, what = 'this page', className }: FailedProps) {
  const problem = problemOf(error)
  if (problem.status === 403) return <Forbidden what={what}>{problem.message}</Forbidden>
  const wait = problem.retryAfterMs === undefined ? undefined : Math.ceil(problem.retryAfterMs / 1000)
  return (
    <Notice icon={CircleAlert} tone="bad" title={`Could not load ${what}`} role="alert" className={className}>
      <p className="max-w-prose text-soft">{problem.message}</p>
      {wait !== undefined && <p className="text-soft">Try again in {plural(wait, 'second')}.</p>}
      {problem.requestId !== undefined && <RequestId id={problem.requestId} />}
      {onRetry !== undefined && (
        <Button icon={RefreshCw} onClick={onRetry}>
          Try again
        </Button>
      )}
    </Notice>
  )
}

export interface ForbiddenProps {
  readonly what: string
  /** The right that is missing: `billing`. */
  readonly right?: string
  readonly children?: ReactNode
  readonly className?: string
}

/** Says who may. */
export function Forbidden({ what, right, children, className }: ForbiddenProps) {
  return (
    <Notice icon={Lock} title={`You cannot see ${what}`} className={className}>
      {children !== undefined && <p className="max-w-prose text-soft">{children}</p>}
      <p className="max-w-prose text-soft">{whoMay(right)}</p>
    </Notice>
  )
}

export function Skeleton({ className }: { readonly className?: string }) {
  return <div aria-hidden className={classNames('animate-pulse rounded-md bg-hover', className ?? 'h-4 w-full')} />
}

/** As high as a table with so many rows. */
export function SkeletonRows({ rows }: { readonly rows: number }) {
  return (
    <div aria-hidden className="divide-y divide-line rounded-xl border border-line bg-surface">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all the same
        <div key={row} className="flex h-9 items-center gap-6 px-4">
          <Skeleton className="h-3 flex-3" />
          <Skeleton className="h-3 flex-2" />
          <Skeleton className="h-3 flex-1" />
        </div>
      ))}
    </div>
  )
}

export function RequestId({ id }: { readonly id: string }) {
  return (
    <p className="flex max-w-full flex-wrap items-center justify-center gap-x-1.5 text-sm text-soft">
      Request ID <CopyableId id={id} />
    </p>
  )
}

interface NoticeProps {
  readonly icon: LucideIcon
  readonly title: string
  readonly tone?: 'bad'
  readonly role?: 'alert'
  readonly className?: string | undefined
  readonly children?: ReactNode
}

function Notice({ icon: Icon, title, tone, role, className, children }: NoticeProps) {
  return (
    <div
      role={role}
      className={classNames(
        'flex flex-col items-center gap-3 rounded-xl border border-dashed border-line px-4 py-10 text-center',
        className,
      )}
    >
      <Icon aria-hidden className={classNames('size-6', tone === 'bad' ? 'text-bad' : 'text-faint')} />
      <p className="font-medium text-ink">{title}</p>
      {children}
    </div>
  )
}

interface OutdatedProps {
  readonly error: unknown
  readonly pending: boolean
  readonly onRetry: () => void
}

/** Above data that is from before the failure. */
function Outdated({ error, pending, onRetry }: OutdatedProps) {
  return (
    <div role="status" className="mb-3 flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg bg-warn-soft px-3 py-1.5">
      <CircleAlert aria-hidden className="size-4 text-warn" />
      <span className="min-w-0 flex-1 text-sm text-ink">
        This data may be out of date: refreshing failed. {problemOf(error).message}
      </span>
      <Button size="sm" variant="ghost" pending={pending} onClick={onRetry}>
        Try again
      </Button>
    </div>
  )
}

function isProblem(error: unknown): boolean {
  return error !== null && error !== undefined
}

const MANAGERS = 'Owners and admins of the account can.'

/** By the gateway's table of rights; what it does not name belongs to owners and admins. */
const WHO_MAY: Readonly<Record<string, string>> = {
  chat: 'Owners, admins and developers of the account can.',
  'agents:read': 'Owners, admins and developers of the account can.',
  'agents:write': 'Owners, admins and developers of the account can.',
  webhooks: 'Owners, admins and developers of the account can.',
  keys: 'Owners, admins and developers of the account can.',
  billing: 'Owners, admins and billing members of the account can.',
  members: MANAGERS,
  audit: MANAGERS,
  operator: 'Only the operator of this installation can.',
}

function whoMay(right: string | undefined): string {
  if (right === undefined) return 'Ask an owner or an admin of the account for another role.'
  return `${WHO_MAY[right] ?? MANAGERS} Ask one of them for another role if necessary.`
}
