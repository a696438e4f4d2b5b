/**
 * Overload detection. While the process is overloaded, new requests are rejected before any work; requests in flight, money,
 * probes and operators are not.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { Log } from './log.ts'

/** Caps of the process; `docs/limits.md` lists them. */
export const PRESSURE_LIMITS = {
  /** Of the heap limit: beyond it garbage collection dominates. */
  heapShare: 0.85,
  /** p99 event loop delay in the last second. */
  loopDelayMs: 200,
  /** Consecutive late samples: a single stall of a busy machine is no overload. */
  samples: 3,
  /** With fewer completions in flight, they are not the cause of the delay. */
  completions: 32,
} as const

const SAMPLE_INTERVAL_MS = 1_000
const RESOLUTION_MS = 20
const WARN_INTERVAL_MS = 60_000

export type Strain = 'heap' | 'event loop'

export interface Pressure {
  /** The exhausted resource; undefined: new requests are accepted. */
  strain(): Strain | undefined
  close(): void
}

/** Measurements of the process, read once per sample. */
interface Gauges {
  /** Used share of the heap limit, 0 to 1. */
  heapShare(): number
  /** p99 delay of the event loop since the last sample. */
  loopDelayMs(): number
  close(): void
}

interface PressureInput {
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Completions in flight. */
  readonly active: () => number
  readonly log: Pick<Log, 'warn'>
  /** Undefined: those of this process. */
  readonly gauges?: Gauges
}

export function createPressure({ clock, active, log, gauges = processGauges() }: PressureInput): Pressure {
  let strain: Strain | undefined
  let late = 0
  let warnedAt = Number.NEGATIVE_INFINITY
  const timer = setInterval(() => {
    const heapShare = gauges.heapShare()
    const loopDelayMs = gauges.loopDelayMs()
    const isLate = loopDelayMs > PRESSURE_LIMITS.loopDelayMs && active() >= PRESSURE_LIMITS.completions
    late = isLate ? late + 1 : 0
    strain = strainOf(heapShare, late)
    if (strain === undefined || clock() - warnedAt < WARN_INTERVAL_MS) return
    warnedAt = clock()
    log.warn({ strain, heapShare, loopDelayMs, active: active() }, 'overloaded: new requests are rejected')
  }, SAMPLE_INTERVAL_MS)
  timer.unref()
  return {
    strain: () => strain,
    close() {
      clearInterval(timer)
      gauges.close()
    },
  }
}

function strainOf(heapShare: number, late: number): Strain | undefined {
  if (heapShare > PRESSURE_LIMITS.heapShare) return 'heap'
  return late >= PRESSURE_LIMITS.samples ? 'event loop' : undefined
}

export function processGauges(): Gauges {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  return {
    heapShare() {
      const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
      return used / limit
    },
    loopDelayMs() {
      // The histogram has whole intervals, the requested pause included.
      const delayMs = delays.percentile(99) / 1e6 - RESOLUTION_MS
      delays.reset()
      return delayMs
    },
    close: () => void delays.disable(),
  }
}
