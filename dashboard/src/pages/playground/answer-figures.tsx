import type { ReactNode } from 'react'
import { formatCount, formatMs, formatUsd } from '../../lib/format.ts'
import { figuresOf, isLive, type Run, type Usage } from './run.ts'

/** What it took, live: tokens, cost, times. What is not known yet has its place all the same. */
export function Figures({ run }: { readonly run: Run }) {
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
      {leftOut.length > 0 && (
        <p className="text-soft">Not sent, as the model does not support it: {leftOut.join(', ')}.</p>
      )}
      {warnings !== undefined && <p className="break-words text-soft">Bent to fit the provider: {warnings}.</p>}
    </div>
  )
}

/** The same of an earlier answer, in one line. */
export function FiguresLine({ run }: { readonly run: Run }) {
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
