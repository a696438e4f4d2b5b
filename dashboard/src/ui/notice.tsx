import { CircleAlert, type LucideIcon, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import type { ApiProblem } from '../api/problem.ts'
import { classNames } from './class-names.ts'
import { CopyableId } from './copy.tsx'

interface NoticeProps {
  readonly tone: 'bad' | 'warn'
  readonly title: string
  readonly icon?: LucideIcon
  /** What to do about it. */
  readonly children: ReactNode
  readonly action?: ReactNode
}

/** Something that wants to be dealt with, in its place on the page. */
export function Notice({ tone, title, icon, children, action }: NoticeProps) {
  const Icon = icon ?? (tone === 'bad' ? CircleAlert : TriangleAlert)
  return (
    <div
      className={classNames(
        'flex flex-wrap items-start gap-x-4 gap-y-3 rounded-xl px-4 py-3',
        tone === 'bad' ? 'bg-bad-soft' : 'bg-warn-soft',
      )}
    >
      <div className="flex min-w-60 flex-1 items-start gap-2.5">
        <Icon aria-hidden className={classNames('mt-0.5 size-4 shrink-0', tone === 'bad' ? 'text-bad' : 'text-warn')} />
        <div className="min-w-0 break-words">
          <p className="font-medium text-ink">{title}</p>
          <div className="mt-0.5 max-w-prose text-ink">{children}</div>
        </div>
      </div>
      {action}
    </div>
  )
}

/** Why something was refused, where it was asked for. Read out when it appears. */
export function ProblemSummary({ problem }: { readonly problem: ApiProblem }) {
  return (
    <div role="alert" className="flex gap-2.5 rounded-lg bg-bad-soft px-3 py-2.5">
      <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0 break-words">
        <p className="text-ink">{problem.message}</p>
        {problem.requestId !== undefined && (
          <p className="mt-0.5 text-sm text-soft">
            Request ID <CopyableId id={problem.requestId} />
          </p>
        )}
      </div>
    </div>
  )
}
