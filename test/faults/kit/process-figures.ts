/** What a gateway's process needs while something is done to it: its memory at the highest, its event loop at the slowest. */
import { readFileSync, writeFileSync } from 'node:fs'
import { send } from '../../support/client.ts'
import type { Gateway } from '../../support/gateway.ts'

export interface ProcessFigures {
  /**
   * Of the resident memory: its highest point less where it was before. What V8 keeps for young objects is left out: it
   * doubles that when it likes, to 64 MiB, whatever is done.
   */
  readonly grownBytes: number
  /** Of the event loop's delay, by the process's own metrics. */
  readonly delayP99Ms: number
  readonly delayMaxMs: number
  /** How long its main thread could have run and got no core. */
  readonly waitedMs: number
}

/** Linux alone tells of the highest point, and lets it be forgotten first. */
export async function figuresWhile(gateway: Gateway, work: () => Promise<void>): Promise<ProcessFigures> {
  const first = await metricsOf(gateway) // each look begins a new count of delays
  writeFileSync(`/proc/${gateway.pid}/clear_refs`, '5')
  const before = memoryOf(gateway.pid, 'VmRSS') - first.youngBytes
  const waited = waitedMs(gateway.pid)
  await work()
  const { delayP99Ms, delayMaxMs, youngBytes } = await metricsOf(gateway)
  return {
    grownBytes: memoryOf(gateway.pid, 'VmHWM') - youngBytes - before,
    delayP99Ms,
    delayMaxMs,
    waitedMs: waitedMs(gateway.pid) - waited,
  }
}

function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kibibytes) * 1024
}

function waitedMs(pid: number): number {
  const [, waitedNs] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')
  return Number(waitedNs) / 1e6
}

async function metricsOf(gateway: Gateway) {
  const { text } = await send(gateway, '/metrics')
  const read = (series: string): number => {
    const line = text.split('\n').find((each) => each.startsWith(`${series} `))
    if (line === undefined) throw new Error(`There is no ${series} in the metrics.`)
    return Number(line.slice(series.length))
  }
  return {
    delayP99Ms: read('nodejs_eventloop_lag_p99_seconds') * 1000,
    delayMaxMs: read('nodejs_eventloop_lag_max_seconds') * 1000,
    youngBytes: read('nodejs_heap_space_size_total_bytes{space="new"}'),
  }
}
