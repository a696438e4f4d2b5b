import { Popover } from '@base-ui/react/popover'
import { CalendarDays, ChevronDown } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { type Period, type PeriodSearch, type Range, resolvePeriod } from '../lib/period.ts'
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

/** Which time a page is about. Days of a custom period are those of UTC. */
export function PeriodPicker({ search, onChange, ranges = USUAL, fallback = '7d', className }: PeriodPickerProps) {
  const isMoving = (range: Range): range is Moving => range !== 'custom'
  const options = ranges.filter(isMoving).map((range) => ({ value: range, label: LABELS[range] }))
  const current = search.range ?? fallback
  return (
    <div className={className}>
      <div className="flex flex-wrap items-center gap-2">
        <Segmented<Range> label="Period" value={current} onChange={(range) => onChange({ range })} options={options} />
        {ranges.includes('custom') && <CustomPeriod search={search} onChange={onChange} fallback={fallback} />}
      </div>
    </div>
  )
}

interface CustomPeriodProps extends Pick<PeriodPickerProps, 'search' | 'onChange'> {
  readonly fallback: Moving
}

function CustomPeriod({ search, onChange, fallback }: CustomPeriodProps) {
  const [open, setOpen] = useState(false)
  const isCustom = search.range === 'custom'
  const period = resolvePeriod(search, useNow(), fallback)
  const choose = (from: string, to: string) => {
    setOpen(false)
    onChange({ range: 'custom', from, to })
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
            <Days from={period.start} to={lastMoment(period.end)} onChoose={choose} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

interface DaysProps {
  /** ISO 8601; their days are what is first proposed. */
  readonly from: string
  readonly to: string
  /** Days, both part of the period. */
  readonly onChoose: (from: string, to: string) => void
}

function Days({ from: first, to: last, onChoose }: DaysProps) {
  const [from, setFrom] = useState(first.slice(0, 10))
  const [to, setTo] = useState(last.slice(0, 10))
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
      <p className="text-sm text-soft">Both days are included. Days are UTC.</p>
      <Button type="submit" variant="primary">
        Apply
      </Button>
    </form>
  )
}

/** The last moment before an end that is not part of the period. */
function lastMoment(end: string): string {
  return new Date(Date.parse(end) - 1).toISOString()
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
