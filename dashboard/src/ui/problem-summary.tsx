import { CircleAlert } from 'lucide-react'
import type { ApiProblem } from '../api/problem.ts'
import { CopyableId } from './copy.tsx'

/** Why something was refused, where it was asked for. Read out when it appears. */
export function ProblemSummary({ problem }: { readonly problem: ApiProblem }) {
  return (
    <div role="alert" className="flex gap-2.5 rounded-lg bg-bad-soft px-3 py-2.5">
      <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0 break-words">
        <p className="text-ink">{problem.message}</p>
        {problem.requestId !== undefined && (
          <p className="mt-0.5 text-sm text-soft">
            Request id <CopyableId id={problem.requestId} />
          </p>
        )}
      </div>
    </div>
  )
}
