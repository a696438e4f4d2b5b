import { ChevronRight, CircleAlert, ReceiptText, RotateCcw, Square, TriangleAlert } from 'lucide-react'
import { memo, type ReactNode, useEffect, useRef } from 'react'
import { formatCount, formatMs, formatUsd } from '../../lib/format.ts'
import { announce } from '../../ui/announcer.tsx'
import { Button, LinkButton, Spinner } from '../../ui/button.tsx'
import { CopyableId, CopyButton } from '../../ui/copy.tsx'
import { loadMarkdown, Markdown } from '../../ui/markdown.tsx'
import type { AnswerItem, ToolAnswer } from './conversation.ts'
import { figuresOf, isLive, type Run, type Usage } from './run.ts'
import { ToolCalls } from './tool-calls.tsx'

export interface AnswerProps {
  readonly answer: AnswerItem
  readonly isLast: boolean
  readonly canRun: boolean
  readonly onStop: () => void
  readonly onRetry: () => void
  readonly onToolAnswers: (answers: readonly ToolAnswer[]) => void
}

export function AnswerView({ answer, isLast, canRun, onStop, onRetry, onToolAnswers }: AnswerProps) {
  const { run, toolAnswers } = answer
  const live = isLive(run)
  useAnnouncedEnd(run)
  return (
    <div className="flex min-w-0 flex-col gap-3" aria-busy={live}>
      {run.reasoning !== '' && <Reasoning text={run.reasoning} isThinking={live && run.text === ''} />}
      {live && run.firstAt === undefined && <Waiting />}
      {run.text !== '' && <AnswerText text={run.text} isLive={live} />}
      {run.refusal !== '' && (
        <Notice
          icon={<TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />}
          title="The model refused"
        >
          <p className="break-words whitespace-pre-wrap">{run.refusal}</p>
        </Notice>
      )}
      {run.isCut && <p className="text-sm text-soft">The answer exceeds what this page can show.</p>}
      {run.calls.length > 0 && (
        <ToolCalls
          run={run}
          answers={toolAnswers}
          isOpen={isLast && canRun && run.status === 'finished' && toolAnswers.length === 0}
          onAnswer={onToolAnswers}
        />
      )}
      <Ending run={run} />
      {isLast ? <Figures run={run} /> : <FiguresLine run={run} />}
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        {live && (
          <Button size="sm" icon={Square} onClick={onStop}>
            Stop
          </Button>
        )}
        {!live && isLast && (
          <Button
            size="sm"
            icon={RotateCcw}
            onClick={onRetry}
            unavailable={canRun ? undefined : 'Choose a model first.'}
          >
            {run.status === 'finished' ? 'Run again' : 'Retry'}
          </Button>
        )}
        {!live && run.text !== '' && <CopyButton text={run.text} label="Copy" variant="ghost" />}
        {!live && run.completionId !== undefined && (
          <LinkButton
            size="sm"
            variant="ghost"
            icon={ReceiptText}
            to="/requests"
            search={{ request: run.completionId }}
          >
            Details
          </LinkButton>
        )}
      </div>
    </div>
  )
}

function Waiting() {
  useEffect(() => void loadMarkdown(), [])
  return (
    <p className="flex items-center gap-2 text-sm text-soft">
      <Spinner /> Waiting for the first token
    </p>
  )
}

/** What comes after as many characters stays plain: to read Markdown out of it would hold the page up. */
const MAX_MARKDOWN = 100_000

const AnswerText = memo(function AnswerText({
  text,
  isLive: live,
}: {
  readonly text: string
  readonly isLive: boolean
}) {
  const isLong = text.length > MAX_MARKDOWN
  const end = isLong ? text.lastIndexOf('\n', MAX_MARKDOWN) + 1 || MAX_MARKDOWN : text.length
  return (
    <>
      <Markdown text={text.slice(0, end)} isGrowing={live} className="min-w-0" />
      {isLong && <div className="break-words whitespace-pre-wrap text-ink">{text.slice(end)}</div>}
    </>
  )
})

function Reasoning({ text, isThinking }: { readonly text: string; readonly isThinking: boolean }) {
  return (
    <details className="group rounded-lg border border-line">
      <summary className="flex min-h-8 list-none items-center gap-1.5 px-2 text-sm font-medium text-soft select-none">
        <ChevronRight aria-hidden className="size-4 transition-transform group-open:rotate-90" />
        {isThinking ? 'Reasoning…' : 'Reasoning'}
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long reasoning is scrolled by keyboard */}
      <div tabIndex={0} className="max-h-72 overflow-y-auto border-t border-line px-3 py-2 -outline-offset-2">
        <p className="text-sm break-words whitespace-pre-wrap text-soft">{text}</p>
      </div>
    </details>
  )
}

/** How it ended, where that is not by itself. */
function Ending({ run: { status, problem } }: { readonly run: Run }) {
  const warning = <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
  if (status === 'stopped') {
    return (
      <Notice icon={warning} title="Stopped">
        <p>Tokens generated until then are billed.</p>
      </Notice>
    )
  }
  if (status === 'interrupted') {
    return (
      <Notice icon={warning} title="Interrupted">
        <p>The connection closed before the answer was complete. Tokens generated until then are billed.</p>
      </Notice>
    )
  }
  if (status !== 'failed' || problem === undefined) return null
  return (
    <Notice icon={<CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />} title="Failed">
      <p className="break-words text-ink">{problem.message}</p>
      {problem.param !== undefined && <p className="break-words">Parameter: {problem.param}</p>}
      {problem.code !== undefined && (
        <p>
          Code: <code className="font-mono text-sm break-all">{problem.code}</code>
        </p>
      )}
      {problem.requestId !== undefined && (
        <p className="flex flex-wrap items-center gap-x-1.5">
          Request ID <CopyableId id={problem.requestId} />
        </p>
      )}
    </Notice>
  )
}

interface NoticeProps {
  readonly icon: ReactNode
  readonly title: string
  readonly children: ReactNode
}

function Notice({ icon, title, children }: NoticeProps) {
  return (
    <div className="flex gap-2 rounded-lg border border-line bg-sunken px-3 py-2 text-sm text-soft">
      {icon}
      <div className="flex min-w-0 flex-col gap-1">
        <p className="font-medium text-ink">{title}</p>
        {children}
      </div>
    </div>
  )
}

const MAX_SPOKEN = 1000

/** Says the whole answer once it is there, not each piece of it. */
function useAnnouncedEnd(run: Run): void {
  const wasLive = useRef(isLive(run))
  useEffect(() => {
    if (isLive(run)) {
      wasLive.current = true
      return
    }
    if (!wasLive.current) return
    wasLive.current = false
    announce(spokenEnd(run))
  }, [run])
}

function spokenEnd({ model, status, text, refusal, calls, problem }: Run): string {
  if (status === 'failed') return `${model} failed: ${problem?.message ?? ''}`
  if (status !== 'finished') return `${model} was ${status}.`
  const said = text === '' ? refusal : text
  const called = calls.map(({ name }) => ` It calls the tool ${name}.`).join('')
  return `${model} answered: ${said.slice(0, MAX_SPOKEN)}${called}`
}

/** What it took, live: tokens, cost, times. What is not known yet has its place nevertheless. */
function Figures({ run }: { readonly run: Run }) {
  const { usage, finishReason, leftOut, warnings } = run
  const { firstTokenMs, durationMs, tokensPerSecond } = figuresOf(run)
  return (
    <div className="flex flex-col gap-2 border-t border-line pt-3 text-xs">
      <dl className="grid grid-cols-[repeat(auto-fill,minmax(6.5rem,1fr))] gap-x-3 gap-y-2">
        <Figure label="Tokens in / out">{tokensText(run)}</Figure>
        <Figure label="Cost">{usage?.costUsd === undefined ? '—' : formatUsd(usage.costUsd)}</Figure>
        <Figure label="First token">{firstTokenMs === undefined ? '—' : formatMs(firstTokenMs)}</Figure>
        <Figure label="Duration">{isLive(run) && firstTokenMs === undefined ? '—' : formatMs(durationMs)}</Figure>
        <Figure label="Speed">{tokensPerSecond === undefined ? '—' : speedText(tokensPerSecond)}</Figure>
        <Figure label="Finish reason">{finishReason ?? '—'}</Figure>
      </dl>
      {usage !== undefined && <Details usage={usage} />}
      {leftOut.length > 0 && <p className="text-soft">Not sent (unsupported by the model): {leftOut.join(', ')}.</p>}
      {warnings !== undefined && <p className="break-words text-soft">Adapted for the provider: {warnings}.</p>}
    </div>
  )
}

/** The same of an earlier answer, in one line. */
function FiguresLine({ run }: { readonly run: Run }) {
  const cost = run.usage?.costUsd
  const parts = [
    run.usage !== undefined && `${tokensText(run)} tokens`,
    cost !== undefined && formatUsd(cost),
    formatMs(figuresOf(run).durationMs),
  ].filter((text) => text !== false)
  return <p className="border-t border-line pt-2 text-xs text-soft tabular-nums">{parts.join(' · ')}</p>
}

function Figure({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-soft">{label}</dt>
      <dd className="font-medium break-words text-ink tabular-nums">{children}</dd>
    </div>
  )
}

function Details({ usage: { cachedTokens, reasoningTokens } }: { readonly usage: Usage }) {
  const details = [
    cachedTokens > 0 && `${formatCount(cachedTokens)} tokens in from the cache`,
    reasoningTokens > 0 && `${formatCount(reasoningTokens)} tokens out for reasoning`,
  ].filter((text) => text !== false)
  return details.length === 0 ? null : <p className="text-soft tabular-nums">{details.join(', ')}</p>
}

/** Until they are counted, about as many as pieces have come. */
function tokensText({ usage, pieces }: Run): string {
  if (usage !== undefined) return `${formatCount(usage.promptTokens)} / ${formatCount(usage.completionTokens)}`
  return pieces === 0 ? '—' : `… / ≈ ${formatCount(pieces)}`
}

function speedText(tokensPerSecond: number): string {
  return `${tokensPerSecond < 10 ? Math.round(tokensPerSecond * 10) / 10 : formatCount(tokensPerSecond)} tokens/s`
}
