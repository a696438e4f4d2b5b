/** What was said and done, as it is said and done. */
import { ArrowDown, Bot, CircleAlert, CircleCheck, RotateCcw, User } from 'lucide-react'
import { memo, type RefCallback, useCallback, useEffect, useRef, useState } from 'react'
import { formatCount } from '../../lib/format.ts'
import { visibleText } from '../../lib/visible-text.ts'
import { Button } from '../../ui/button.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { Skeleton } from '../../ui/states.tsx'
import { Time } from '../../ui/values.tsx'
import type { AgentStream } from './agent-stream.ts'
import { helpFor } from './failures.ts'
import type { LiveAgent } from './queries.ts'
import { FoldedText, ToolCard } from './tool-card.tsx'
import { type EndEntry, type Entry, isEnded, type MessageEntry } from './work.ts'

/** So many of the newest are shown at first, and so many more on each press. */
const SHOWN = 200

export interface TranscriptProps {
  readonly agent: LiveAgent
  readonly stream: AgentStream
  /** Puts a message into the box for follow-ups. Undefined for who may not write. */
  readonly askAgain: ((message: string) => void) | undefined
}

export function Transcript({ agent, stream: { work, connection }, askAgain }: TranscriptProps) {
  const [shown, setShown] = useState(SHOWN)
  const isOpen = !isEnded(agent.status)
  const { list, isAtEnd, toEnd } = useFollowedEnd(isOpen)
  const { entries } = work
  const hidden = Math.max(0, entries.length - shown)
  if (entries.length === 0 && connection === 'connecting') return <Skeleton className="h-40 w-full" />
  return (
    <div className="relative max-w-5xl">
      {hidden > 0 && (
        <div className="mb-4 text-center">
          <Button onClick={() => setShown(shown + SHOWN)}>Show earlier ({formatCount(hidden)})</Button>
        </div>
      )}
      <ol ref={list} aria-label="Transcript" className="flex flex-col gap-4">
        {entries.slice(hidden).map((entry) => (
          <li key={entry.sequence} className="min-w-0">
            <EntryView entry={entry} isFirst={entry === entries[0]} isOpen={isOpen} askAgain={askAgain} />
          </li>
        ))}
      </ol>
      <Waiting status={agent.status} entries={entries} />
      {isOpen && !isAtEnd && (
        <div className="pointer-events-none sticky bottom-4 z-10 mt-3 text-center">
          <Button size="sm" variant="primary" icon={ArrowDown} onClick={toEnd} className="pointer-events-auto">
            Jump to latest
          </Button>
        </div>
      )}
    </div>
  )
}

/** What one waits for, so that silence is not taken for an end. */
function Waiting({ status, entries }: { readonly status: string; readonly entries: readonly Entry[] }) {
  const last = entries.at(-1)
  if (status === 'queued') return <p className="mt-4 text-soft">Waiting for a worker…</p>
  if (status !== 'running') return null
  if (last?.kind === 'tool' && last.result === undefined) return null
  return <p className="mt-4 text-soft">Thinking…</p>
}

interface EntryViewProps {
  readonly entry: Entry
  readonly isFirst: boolean
  readonly isOpen: boolean
  /** Puts a message into the box for follow-ups. Undefined for who may not write. */
  readonly askAgain: ((message: string) => void) | undefined
}

const EntryView = memo(function EntryView({ entry, isFirst, isOpen, askAgain }: EntryViewProps) {
  if (entry.kind === 'tool') return <ToolCard entry={entry} isOpen={isOpen} />
  if (entry.kind === 'end') return <End entry={entry} />
  return entry.role === 'user' ? <Asked entry={entry} isFirst={isFirst} askAgain={askAgain} /> : <Said entry={entry} />
})

interface AskedProps extends Pick<EntryViewProps, 'isFirst' | 'askAgain'> {
  readonly entry: MessageEntry
}

function Asked({ entry, isFirst, askAgain }: AskedProps) {
  return (
    <article aria-label={isFirst ? 'Task' : 'Follow-up'} className="rounded-xl bg-accent-soft px-4 py-3">
      <div className="flex items-start justify-between gap-3">
        <Head icon={User} label={isFirst ? 'Task' : 'Follow-up'} at={entry.at} />
        {askAgain && (
          <Button size="sm" variant="ghost" icon={RotateCcw} onClick={() => askAgain(entry.text)}>
            Ask again
          </Button>
        )}
      </div>
      <FoldedText text={visibleText(entry.text)} className="text-ink" />
    </article>
  )
}

function Said({ entry }: { readonly entry: MessageEntry }) {
  return (
    <article aria-label="Agent" className="px-4">
      <Head icon={Bot} label="Agent" at={entry.at} />
      <Markdown text={visibleText(entry.text)} />
    </article>
  )
}

function Head({ icon: Icon, label, at }: { readonly icon: typeof Bot; readonly label: string; readonly at: string }) {
  return (
    <div className="mb-1 flex items-center gap-2">
      <Icon aria-hidden className="size-4 text-soft" />
      <span className="font-medium text-ink">{label}</span>
      <span className="text-xs text-soft">
        <Time iso={at} relative />
      </span>
    </div>
  )
}

const ENDS: Readonly<Record<string, string>> = { completed: 'Completed', failed: 'Failed', cancelled: 'Cancelled' }

function End({ entry: { status, error, at } }: { readonly entry: EndEntry }) {
  const Icon = status === 'completed' ? CircleCheck : CircleAlert
  const why = error === undefined ? '' : `: ${helpFor(error.code).title}`
  return (
    <div className="flex items-center gap-3 text-sm text-soft">
      <span aria-hidden className="h-px flex-1 bg-line" />
      <span className="inline-flex max-w-full items-center gap-1.5">
        <Icon aria-hidden className="size-4 shrink-0" />
        {ENDS[status] ?? visibleText(status)}
        {why} · <Time iso={at} relative />
      </span>
      <span aria-hidden className="h-px flex-1 bg-line" />
    </div>
  )
}

/** So near to the end of the page one is at it. */
const NEAR_PX = 96

interface FollowedEnd {
  /** For the list that grows. */
  readonly list: RefCallback<HTMLOListElement>
  readonly isAtEnd: boolean
  readonly toEnd: () => void
}

/**
 * Keeps the end of the page in sight while it grows, for a reader who is there; one who reads further up is not moved.
 * @param isOpen Whether it may still grow: what had ended before is read from its beginning.
 */
function useFollowedEnd(isOpen: boolean): FollowedEnd {
  const [element, list] = useState<HTMLOListElement | null>(null)
  const follows = useRef(isOpen)
  // Where the end was last: what came since then has not moved the reader, only they have.
  const end = useRef(0)
  const [isAtEnd, setAtEnd] = useState(true)
  const toEnd = useCallback(() => {
    follows.current = true
    window.scrollTo({ top: document.documentElement.scrollHeight })
    end.current = window.scrollY
  }, [])
  useEffect(() => {
    if (element === null) return undefined
    const look = (): void => {
      if (isNearEnd()) {
        follows.current = true
        end.current = window.scrollY
      } else if (window.scrollY < end.current - NEAR_PX) follows.current = false
      setAtEnd(follows.current)
    }
    const grow = (): void => {
      if (follows.current) toEnd()
      else setAtEnd(isNearEnd())
    }
    const observer = new ResizeObserver(grow)
    observer.observe(element)
    window.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      window.removeEventListener('scroll', look)
    }
  }, [element, toEnd])
  return { list, isAtEnd, toEnd }
}

function isNearEnd(): boolean {
  return document.documentElement.scrollHeight - window.innerHeight - window.scrollY < NEAR_PX
}
