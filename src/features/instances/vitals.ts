/** Load and event-loop lag of this process, for its row in `instance`. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { InstanceReport } from '../../jobs/instance-lease.ts'

/** Readings are 5 s apart, so the load is of about a minute. */
const READINGS = 12
const RESOLUTION_MS = 10

export interface VitalsMonitor {
  /** Takes a reading; to be called by one caller, every few seconds. */
  read(): InstanceReport
  close(): void
}

interface Reading {
  readonly atMs: number
  readonly cpuMs: number
}

export interface VitalsInput {
  readonly activeRequests: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** CPU time of the process so far. Undefined: as the system counts it. */
  readonly cpuMs?: () => number
}

export function createVitalsMonitor({ activeRequests, clock, cpuMs = processCpuMs }: VitalsInput): VitalsMonitor {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  const readings: Reading[] = [{ atMs: clock(), cpuMs: cpuMs() }]
  return {
    read() {
      const now: Reading = { atMs: clock(), cpuMs: cpuMs() }
      const [oldest = now] = readings
      readings.push(now)
      if (readings.length > READINGS) readings.shift()
      // The histogram has whole intervals, the resolution included.
      const lagMs = Math.max(0, delays.percentile(99) / 1e6 - RESOLUTION_MS)
      delays.reset()
      return { load: loadBetween(oldest, now), lagMs, activeRequests: activeRequests() }
    },
    close: () => void delays.disable(),
  }
}

function loadBetween(before: Reading, after: Reading): number {
  const passedMs = after.atMs - before.atMs
  return passedMs > 0 ? (after.cpuMs - before.cpuMs) / passedMs : 0
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
