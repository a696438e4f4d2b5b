/** What a gateway's process needs while something is done to it: its memory at the highest, its event loop at the slowest. */
import { readFileSync, writeFileSync } from 'node:fs'
import { send } from '../../support/client.ts'
import type { Gateway } from '../../support/gateway.ts'

export interface ProcessFigures {
  /** Of the resident memory: its highest point less where it was before. */
  readonly grownBytes: number
  /** Of the event loop's delay, by the process's own metrics. */
  readonly delayP99Ms: number
  readonly delayMaxMs: number
  /** How long its main thread could have run and got no core. */
  readonly waitedMs: number
}

/** Linux alone tells of the highest point, and lets it be forgotten first. */
export async function figuresWhile(gateway: Gateway, work: () => Promise<void>): Promise<ProcessFigures> {
  await eventLoopDelay(gateway) // each look begins a new count
  writeFileSync(`/proc/${gateway.pid}/clear_refs`, '5')
  const before = memoryOf(gateway.pid, 'VmRSS')
  const waited = waitedMs(gateway.pid)
  await work()
  const { p99Ms, maxMs } = await eventLoopDelay(gateway)
  return {
    grownBytes: memoryOf(gateway.pid, 'VmHWM') - before,
    delayP99Ms: p99Ms,
    delayMaxMs: maxMs,
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

async function eventLoopDelay(gateway: Gateway): Promise<{ readonly p99Ms: number; readonly maxMs: number }> {
  const { text } = await send(gateway, '/metrics')
  const read = (name: string): number =>
    Number(new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)`, 'm').exec(text)?.[1]) * 1000
  return { p99Ms: read('p99'), maxMs: read('max') }
}
