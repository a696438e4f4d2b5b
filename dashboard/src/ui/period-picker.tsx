import { Popover } from '@base-ui/react/popover'
import { CalendarDays, ChevronDown } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { dayOf, daysSearch, type Period, type PeriodSearch, type Range, resolvePeriod } from '../lib/period.ts'
import type { Zone } from '../lib/time.ts'
import { Button } from './button.tsx'
import { TextField } from './form/field.tsx'
import { Segmented } from './form/segmented.tsx'
import { useNow } from './time-zone.ts'

type Moving = Exclude<Range, 'custom'>

export interface PeriodPickerProps {
  readonly search: PeriodSearch
  readonly onChange: (search: PeriodSearch) => void
  /** What is offered, besides days of one's own choice when it has `custom`. */
  readonly ranges?: readonly Range[] | undefined
  /** The page's own, shown while the address names none. */
  readonly fallback?: Moving | undefined
  /** Of days; UTC unless given. */
  readonly zone?: Zone | undefined
  readonly className?: string | undefined
}

const LABELS: Readonly<Record<Range, string>> = {
  '1h': '1 hour',
  today: 'Today',
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
  month: 'Month',
  custom: 'Custom',
}
const USUAL: readonly Range[] = ['today', '7d', '30d', 'month', 'custom']

/** Which time a page is about. */
export function PeriodPicker({ search, onChange, ranges = USUAL, fallback = '7d', ...rest }: PeriodPickerProps) {
  const { zone = 'utc', className } = rest
  const isMoving = (range: Range): range is Moving => range !== 'custom'
  const options = ranges.filter(isMoving).map((range) => ({ value: range, label: LABELS[range] }))
  const current = search.range ?? fallback
  return (
    <div className={className}>
      <div className="flex flex-wrap items-center gap-2">
        <Segmented<Range> label="Period" value={current} onChange={(range) => onChange({ range })} options={options} />
        {ranges.includes('custom') && <CustomPeriod {...{ search, onChange, fallback, zone }} />}
      </div>
    </div>
  )
}

interface CustomPeriodProps extends Pick<PeriodPickerProps, 'search' | 'onChange'> {
  readonly fallback: Moving
  readonly zone: Zone
}

function CustomPeriod({ search, onChange, fallback, zone }: CustomPeriodProps) {
  const [open, setOpen] = useState(false)
  const isCustom = search.range === 'custom'
  const period = resolvePeriod(search, useNow(), fallback, zone)
  const choose = (from: string, to: string) => {
    setOpen(false)
    onChange(daysSearch(from, to, zone))
  }
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger
        render={
          <Button icon={CalendarDays} variant={isCustom ? 'secondary' : 'ghost'}>
            {isCustom ? period.label : 'Custom'}
            <ChevronDown aria-hidden className="size-4 text-faint" />
          </Button>
        }
      />
      <Popover.Portal>
        <Popover.Positioner sideOffset={4} align="end" className="z-60">
          <Popover.Popup className="w-72 max-w-(--available-width) rounded-xl border border-line bg-surface p-4 shadow-popup">
            <Popover.Title className="mb-3 font-medium text-ink">Custom period</Popover.Title>
            <Days
              first={dayOf(Date.parse(period.start), zone)}
              last={dayOf(Date.parse(period.end) - 1, zone)}
              note={zone === 'utc' ? 'Days are UTC.' : 'Days are those of your time zone.'}
              onChoose={choose}
            />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

interface DaysProps {
  /** What is proposed: `2026-11-03`. */
  readonly first: string
  readonly last: string
  readonly note: string
  /** Days, both part of the period. */
  readonly onChoose: (from: string, to: string) => void
}

function Days({ first, last, note, onChoose }: DaysProps) {
  const [from, setFrom] = useState(first)
  const [to, setTo] = useState(last)
  const isBackwards = from !== '' && to !== '' && to < from
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (from !== '' && to !== '' && !isBackwards) onChoose(from, to)
  }
  return (
    <form onSubmit={submit} className="flex flex-col gap-3">
      <TextField label="From" type="date" value={from} onChange={setFrom} required />
      <TextField
        label="To"
        type="date"
        value={to}
        onChange={setTo}
        error={isBackwards ? 'Choose a day on or after the first day.' : undefined}
        required
      />
      <p className="text-sm text-soft">Both days are included. {note}</p>
      <Button type="submit" variant="primary">
        Apply
      </Button>
    </form>
  )
}

const MINUTE_MS = 60_000
const STEP_MS = 5 * MINUTE_MS

/** Just behind the beginning of the minute: bounds that end with the next one do so from its first moment on. */
export function minuteOf(now: number): number {
  return Math.floor(now / MINUTE_MS) * MINUTE_MS + 1
}

/**
 * The period of the address as time goes by; and until when to compare it with another, in steps of five minutes.
 * @param zone Of days and months: UTC, by which amounts are booked, unless given.
 */
export function usePeriod(
  search: PeriodSearch,
  fallback: Exclude<Range, 'custom'>,
  zone: Zone = 'utc',
): { readonly period: Period; readonly comparedUntil: number } {
  const now = useNow()
  return {
    period: resolvePeriod(search, minuteOf(now), fallback, zone),
    comparedUntil: Math.floor(now / STEP_MS) * STEP_MS,
  }
}
