/** What state something is in: always an icon and a word, never a color alone. */
import {
  Ban,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CirclePlay,
  CircleX,
  Clock,
  Hourglass,
  Info,
  type LucideIcon,
  TriangleAlert,
  Unplug,
} from 'lucide-react'
import type { ReactNode } from 'react'
import { COMPLETION_TONES, type Tone } from '../lib/tones.ts'
import { classNames } from './class-names.ts'

export type { Tone }

const TONES: Readonly<Record<Tone, string>> = {
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  info: 'bg-info-soft text-info',
  neutral: 'bg-sunken text-soft',
}

const TONE_ICONS: Readonly<Record<Tone, LucideIcon>> = {
  good: CircleCheck,
  warn: TriangleAlert,
  bad: CircleX,
  info: Info,
  neutral: CircleDashed,
}

export interface StatusChipProps {
  readonly tone: Tone
  /** The tone's own unless given. */
  readonly icon?: LucideIcon | undefined
  readonly children: ReactNode
  readonly className?: string | undefined
}

export function StatusChip({ tone, icon: Icon = TONE_ICONS[tone], children, className }: StatusChipProps) {
  return (
    <span
      className={classNames(
        'inline-flex h-6 max-w-full items-center gap-1 rounded-full border border-transparent px-2 text-xs font-medium whitespace-nowrap',
        TONES[tone],
        className,
      )}
    >
      <Icon aria-hidden className="size-3.5 shrink-0" />
      {children}
    </span>
  )
}

export function EnabledStatus({ enabled }: { readonly enabled: boolean }) {
  return <StatusChip tone={enabled ? 'good' : 'neutral'}>{enabled ? 'Enabled' : 'Disabled'}</StatusChip>
}

type Known = readonly [tone: Tone, icon: LucideIcon, word: string]
type KnownStatuses = Readonly<Record<string, Known>>

const COMPLETIONS: KnownStatuses = {
  completed: [COMPLETION_TONES.completed, CircleCheck, 'Completed'],
  failed: [COMPLETION_TONES.failed, CircleX, 'Failed'],
  client_left: [COMPLETION_TONES.client_left, Unplug, 'Client left'],
  incomplete: [COMPLETION_TONES.incomplete, TriangleAlert, 'Incomplete'],
}

const AGENTS: KnownStatuses = {
  queued: ['neutral', Clock, 'Queued'],
  running: ['info', CirclePlay, 'Running'],
  completed: ['good', CircleCheck, 'Completed'],
  failed: ['bad', CircleX, 'Failed'],
  cancelled: ['neutral', Ban, 'Cancelled'],
}

const DELIVERIES: KnownStatuses = {
  pending: ['info', Hourglass, 'Pending'],
  delivered: ['good', CircleCheck, 'Delivered'],
  failed: ['bad', CircleX, 'Failed'],
}

/** Of a provider's deployment, by its circuit breaker; and of checks, by their own words. */
const HEALTH: KnownStatuses = {
  closed: ['good', CircleCheck, 'Healthy'],
  half_open: ['warn', TriangleAlert, 'Probing'],
  open: ['bad', CircleX, 'Paused'],
  ok: ['good', CircleCheck, 'Healthy'],
  healthy: ['good', CircleCheck, 'Healthy'],
  degraded: ['warn', TriangleAlert, 'Degraded'],
  down: ['bad', CircleX, 'Down'],
  failed: ['bad', CircleX, 'Failed'],
  cooling: ['warn', Hourglass, 'Cooling down'],
  disabled: ['neutral', Ban, 'Disabled'],
  unknown: ['neutral', CircleDashed, 'No calls yet'],
}

interface StatusProps {
  readonly status: string
  readonly className?: string
}

/** Of a request. */
export function CompletionStatus(props: StatusProps) {
  return <KnownStatus known={COMPLETIONS} {...props} />
}

export function AgentStatus(props: StatusProps) {
  return <KnownStatus known={AGENTS} {...props} />
}

/** Of an event on its way to a webhook. */
export function DeliveryStatus(props: StatusProps) {
  return <KnownStatus known={DELIVERIES} {...props} />
}

export function HealthStatus(props: StatusProps) {
  return <KnownStatus known={HEALTH} {...props} />
}

/** A status that a newer gateway may send and this page does not know is shown by its own word. */
function KnownStatus({ known, status, className }: StatusProps & { readonly known: KnownStatuses }) {
  const [tone, icon, word] = known[status] ?? ['neutral', CircleAlert, wordOf(status)]
  return (
    <StatusChip tone={tone} icon={icon} className={className}>
      {word}
    </StatusChip>
  )
}

function wordOf(status: string): string {
  const words = status.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
