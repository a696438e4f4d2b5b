/**
 * Whether this process has more work than it can do. New requests are then turned away at the door, before anything was
 * done for them; what is under way, money, probes and operators are not.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { Log } from './log.ts'

/** Caps of the process; `docs/limits.md` lists them. */
export const PRESSURE_LIMITS = {
  /** Of the heap's limit: beyond it the garbage collector leaves little time for anything else. */
  heapShare: 0.85,
  /** 99 of 100 turns of the event loop in the last second. */
  loopDelayMs: 200,
  /** A stall on a busy machine is no overload: the delay counts when it was there in so many looks in a row. */
  looks: 3,
  /** With fewer completions under way than this, it is not they who hold up the event loop. */
  completions: 32,
} as const

const LOOK_EVERY_MS = 1_000
const RESOLUTION_MS = 20
const TELL_EVERY_MS = 60_000

export type Strain = 'heap' | 'event loop'

export interface Pressure {
  /** What there is too little of; undefined: new requests are welcome. */
  strain(): Strain | undefined
  close(): void
}

/** Reads the process, once for each look. */
export interface Gauges {
  /** Used part of the heap's limit, 0 to 1. */
  heapShare(): number
  /** 99 of 100 turns of the event loop were late by no more than this since the last look. */
  loopDelayMs(): number
  close(): void
}

export interface PressureInput {
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Completions under way. */
  readonly active: () => number
  readonly log: Pick<Log, 'warn'>
  /** Undefined: those of this process. */
  readonly gauges?: Gauges
}

export function createPressure({ clock, active, log, gauges = processGauges() }: PressureInput): Pressure {
  let strain: Strain | undefined
  let late = 0
  let toldAt = Number.NEGATIVE_INFINITY
  const timer = setInterval(() => {
    const heapShare = gauges.heapShare()
    const loopDelayMs = gauges.loopDelayMs()
    const isLate = loopDelayMs > PRESSURE_LIMITS.loopDelayMs && active() >= PRESSURE_LIMITS.completions
    late = isLate ? late + 1 : 0
    strain = strainOf(heapShare, late)
    if (strain === undefined || clock() - toldAt < TELL_EVERY_MS) return
    toldAt = clock()
    log.warn({ strain, heapShare, loopDelayMs, active: active() }, 'overloaded: new requests are turned away')
  }, LOOK_EVERY_MS)
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
  return late >= PRESSURE_LIMITS.looks ? 'event loop' : undefined
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
      // The histogram has whole intervals between two turns, the wanted pause included.
      const delayMs = delays.percentile(99) / 1e6 - RESOLUTION_MS
      delays.reset()
      return delayMs
    },
    close: () => void delays.disable(),
  }
}
