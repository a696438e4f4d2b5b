import {
  Ban,
  CircleCheck,
  CircleX,
  Clock,
  FolderGit2,
  GitCommitHorizontal,
  Hammer,
  type LucideIcon,
  Play,
  Upload,
} from 'lucide-react'
import { plural } from '../../lib/format.ts'
import { visibleText } from '../../lib/visible-text.ts'
import { Skeleton } from '../../ui/states.tsx'
import { Ms, Time } from '../../ui/values.tsx'
import { Counts } from './diff-file.tsx'
import { helpFor } from './failures.ts'
import { useSecond } from './use-second.ts'
import { type AgentWork, isEnded, type Moment, type RunWork } from './work.ts'

const KNOWN: Readonly<Record<string, readonly [icon: LucideIcon, label: string]>> = {
  queued: [Clock, 'Queued'],
  running: [Play, 'Started'],
  cloning: [FolderGit2, 'Cloning the repository'],
  working: [Hammer, 'Working'],
  committing: [GitCommitHorizontal, 'Committing'],
  pushing: [Upload, 'Pushing the branch'],
  completed: [CircleCheck, 'Completed'],
  failed: [CircleX, 'Failed'],
  cancelled: [Ban, 'Cancelled'],
}

export function Timeline({ work }: { readonly work: AgentWork }) {
  const isOpen = work.status !== undefined && !isEnded(work.status)
  const now = useSecond(isOpen)
  if (work.runs.length === 0) return <Skeleton className="h-40 w-full" />
  return (
    <div className="flex flex-col gap-6">
      {work.runs.map((run, at) => (
        <section key={run.runId} aria-label={`Run ${at + 1}`} className="rounded-xl border border-line bg-surface p-4">
          <h3 className="mb-3 font-medium text-ink">Run {at + 1}</h3>
          <ol>
            {run.moments.map((moment, index) => (
              <MomentLine key={moment.sequence} moment={moment} run={run} next={run.moments[index + 1]} now={now} />
            ))}
          </ol>
        </section>
      ))}
    </div>
  )
}

interface MomentLineProps {
  readonly moment: Moment
  readonly run: RunWork
  /** Undefined: it is the last one so far. */
  readonly next: Moment | undefined
  readonly now: number
}

function MomentLine({ moment, run, next, now }: MomentLineProps) {
  const [Icon, label] = KNOWN[moment.name] ?? [Clock, visibleText(moment.name)]
  const isLast = next === undefined
  const isOver = isEnded(moment.name)
  const tookMs = (isLast ? now : Date.parse(next.at)) - Date.parse(moment.at)
  return (
    <li className="relative flex gap-3 pb-4 last:pb-0">
      {!isLast && <span aria-hidden className="absolute top-6 bottom-0 left-3 w-px bg-line" />}
      <span className="flex size-6 shrink-0 items-center justify-center rounded-full bg-sunken">
        <Icon aria-hidden className="size-3.5 text-soft" />
      </span>
      <div className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-4 pt-0.5">
        <div className="min-w-0 flex-1 basis-40">
          <p className="text-ink">{label}</p>
          <Detail moment={moment} run={run} />
        </div>
        {!isOver && (
          <span className="text-sm text-soft">
            {isLast && <span>so far </span>}
            <Ms value={isLast ? Math.max(0, Math.floor(tookMs / 1000) * 1000) : tookMs} />
          </span>
        )}
        <span className="text-sm text-soft">
          <Time iso={moment.at} />
        </span>
      </div>
    </li>
  )
}

function Detail({ moment: { name, error }, run }: Pick<MomentLineProps, 'moment' | 'run'>) {
  if (error !== undefined) return <p className="text-sm text-bad">{helpFor(error.code).title}</p>
  if (name === 'working') {
    return (
      <p className="text-sm text-soft tabular-nums">
        {plural(run.steps, 'step')}, {plural(run.toolCalls, 'call')} of tools
      </p>
    )
  }
  if (name === 'committing' && run.diff !== undefined) {
    return (
      <p className="text-sm text-soft">
        {plural(run.diff.files, 'file')} <Counts {...run.diff} />
      </p>
    )
  }
  return null
}
