/** Single values as they stand in rows, totals and lists. */
import type { ReactNode } from 'react'
import { formatCount, formatExactUsd, formatMs, formatUsd } from '../lib/format.ts'
import { formatDateTime, relativeTime } from '../lib/time.ts'
import { classNames } from './class-names.ts'
import { useNow, useTimeZone } from './time-zone.ts'

type Maybe<Value> = Value | null | undefined

/** What is not known, or not there. */
export function Dash() {
  return (
    <span className="text-faint">
      <span aria-hidden>—</span>
      <span className="sr-only">None</span>
    </span>
  )
}

interface UsdProps {
  readonly value: Maybe<number>
  /** With all its digits, in details; otherwise they are in the title. */
  readonly exact?: boolean
  /** With a plus where it is more than nothing. */
  readonly signed?: boolean
}

/** An amount of US dollars. */
export function Usd({ value, exact = false, signed = false }: UsdProps) {
  if (value === null || value === undefined) return <Dash />
  const all = formatExactUsd(value)
  return (
    <span title={all} className="whitespace-nowrap tabular-nums">
      {signed && value > 0 && '+'}
      {exact ? all : formatUsd(value)}
    </span>
  )
}

/** Text that people wrote, cut to the width of a column; all of it is in the title. */
export function CutText({ text }: { readonly text: string }) {
  return (
    <span className="block max-w-56 truncate 2xl:max-w-96" title={text}>
      {text}
    </span>
  )
}

export function Tokens({ value }: { readonly value: Maybe<number> }) {
  if (value === null || value === undefined) return <Dash />
  return <span className="whitespace-nowrap tabular-nums">{formatCount(value)}</span>
}

/** A duration in milliseconds. */
export function Ms({ value }: { readonly value: Maybe<number> }) {
  if (value === null || value === undefined) return <Dash />
  return <span className="whitespace-nowrap tabular-nums">{formatMs(value)}</span>
}

export interface TimeProps {
  /** ISO 8601. */
  readonly iso: Maybe<string>
  /** As an age; the moment itself is in the title. */
  readonly relative?: boolean
}

export function Time({ iso, relative = false }: TimeProps) {
  if (iso === null || iso === undefined) return <Dash />
  return relative ? <Age iso={iso} /> : <Moment iso={iso} />
}

function Moment({ iso }: { readonly iso: string }) {
  const zone = useTimeZone()
  return (
    <time dateTime={iso} title={formatDateTime(iso, 'utc')} className="whitespace-nowrap">
      {formatDateTime(iso, zone)}
    </time>
  )
}

function Age({ iso }: { readonly iso: string }) {
  const zone = useTimeZone()
  const now = useNow()
  const utc = formatDateTime(iso, 'utc')
  return (
    <time
      dateTime={iso}
      title={zone === 'utc' ? utc : `${formatDateTime(iso, zone)} (${utc})`}
      className="whitespace-nowrap"
    >
      {relativeTime(iso, now)}
    </time>
  )
}

export interface DetailsItem {
  readonly label: string
  readonly value: ReactNode
}

/** Names and values, one pair a line; below each other where it is narrow. */
export function Details({ items, className }: { readonly items: readonly DetailsItem[]; readonly className?: string }) {
  return (
    <dl className={classNames('divide-y divide-line', className)}>
      {items.map(({ label, value }) => (
        <div key={label} className="grid gap-x-4 py-2 sm:grid-cols-[minmax(7rem,2fr)_minmax(0,5fr)]">
          <dt className="text-soft">{label}</dt>
          <dd className="min-w-0 break-words text-ink">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
