/** The calls to providers that a request was made of, one below the other on its time axis. */
import { formatMs, plural } from '../../lib/format.ts'
import { classNames } from '../../ui/class-names.ts'
import { StatusChip } from '../../ui/status.tsx'
import type { WholeCompletion } from './queries.ts'
import { type Timeline, type TimelineCall, timelineOf } from './timeline.ts'
import { OUTCOMES } from './words.ts'

export function Waterfall({ completion }: { readonly completion: WholeCompletion }) {
  const timeline = timelineOf(completion)
  if (timeline.calls.length === 0) {
    return <p className="text-soft">{plural(completion.attempts, 'call')}, without details.</p>
  }
  const isAnswered = timeline.calls.some(({ answeredUntil }) => answeredUntil !== undefined)
  return (
    <div>
      {timeline.unknown > 0 && (
        <p className="mb-2 text-soft">
          The newest {timeline.calls.length} calls; details of earlier calls are not stored.
        </p>
      )}
      <ol aria-label="Calls to providers" className="divide-y divide-line rounded-xl border border-line">
        {timeline.calls.map((call) => (
          <Call key={call.number} call={call} timeline={timeline} />
        ))}
      </ol>
      <Axis length={timeline.length} />
      {isAnswered && (
        <p className="mt-1 flex flex-wrap gap-x-4 text-xs text-soft">
          <Sample className="bg-accent" text="Time to first token" />
          <Sample className="border border-accent bg-accent-soft" text="The answer" />
        </p>
      )}
    </div>
  )
}

function Call({ call, timeline }: { readonly call: TimelineCall; readonly timeline: Timeline }) {
  const { attempt, number, start, end, answeredUntil, pause } = call
  const { tone, word, text } = OUTCOMES[attempt.outcome]
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
        <span className="min-w-0 font-medium break-words text-ink">
          <span className="text-soft tabular-nums">{number}.</span> {attempt.provider}
          <span className="font-normal text-soft"> · {attempt.model}</span>
        </span>
        <StatusChip tone={tone}>{word}</StatusChip>
      </div>
      <div aria-hidden className="relative mt-2 h-3 rounded-sm bg-sunken">
        {answeredUntil !== undefined && (
          <Bar
            from={end}
            to={answeredUntil}
            length={timeline.length}
            className="border border-accent bg-accent-soft rounded-r-sm"
          />
        )}
        <Bar
          from={start}
          to={end}
          length={timeline.length}
          className={classNames('rounded-sm', answeredUntil === undefined ? 'bg-strong' : 'bg-accent')}
        />
      </div>
      <p className="mt-1.5 text-sm text-soft">
        {text} {attempt.status === null ? 'No HTTP status.' : `HTTP ${attempt.status}.`} Began after{' '}
        <span className="tabular-nums">{formatMs(start)}</span>, took{' '}
        <span className="tabular-nums">{formatMs(end - start)}</span>.{' '}
        {attempt.message !== undefined && (
          <q className="text-ink before:content-['“'] after:content-['”']">{attempt.message}</q>
        )}{' '}
        {pause !== undefined && `So the next was called ${pause < 1 ? 'at once' : `${formatMs(pause)} later`}.`}
      </p>
    </li>
  )
}

interface BarProps {
  readonly from: number
  readonly to: number
  readonly length: number
  readonly className: string
}

/** However short: two pixels. */
function Bar({ from, to, length, className }: BarProps) {
  const left = Math.min(100, (from / length) * 100)
  const width = Math.max(0, Math.min(100 - left, ((to - from) / length) * 100))
  return (
    <span
      style={{ left: `min(${left}%, 100% - 2px)`, width: `${width}%`, minWidth: 2 }}
      className={classNames('keep-colors absolute inset-y-0', className)}
    />
  )
}

function Axis({ length }: { readonly length: number }) {
  return (
    <div aria-hidden className="mt-1.5 flex justify-between px-4 text-xs text-soft tabular-nums">
      <span>0 ms</span>
      <span>{formatMs(length / 2)}</span>
      <span>{formatMs(length)}</span>
    </div>
  )
}

function Sample({ className, text }: { readonly className: string; readonly text: string }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span aria-hidden className={classNames('keep-colors size-3 rounded-sm', className)} />
      {text}
    </span>
  )
}
