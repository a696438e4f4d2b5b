/**
 * `npm run bench -- --tracing`: the CPU time that observing requests adds, as a ratio to the same gateway without it, second by
 * second in turn: every request traced and exported to a receiver on loopback; every request captured; and what is there but
 * off, which must cost nothing. Two equal gateways show how much two processes differ here. That the code costs nothing
 * where nothing is configured is `--against` an older checkout. `--quick` starts each pair once.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { send } from '../test/support/client.ts'
import { type Gateway, startGateway } from '../test/support/gateway.ts'
import { compareStarts, type Start } from './against.ts'
import { BUDGETS } from './budgets.ts'
import { percentile, start } from './processes.ts'

const STARTS = process.argv.includes('--quick') ? 1 : 3
const WORKS = [{ figure: 'JSON, 64 in flight', work: { model: 'json', stream: false }, inFlight: 64 }] as const

interface Variant {
  readonly name: string
  readonly start: Start
  /** Undefined: it is only printed. */
  readonly budget?: number
}

/** @returns whether every variant is within its budget. */
export async function benchTracing(): Promise<boolean> {
  const [upstream, receiver] = [await start('upstream.ts'), await start('otlp-sink.ts')]
  const logFile = join(mkdtempSync(join(tmpdir(), 'turnpike-tracing-')), 'gateways.log')
  const off: Start = (options) => startGateway({ ...options, logFile })
  const variants = variantsOf(off, receiver.port).map((variant) => ({ ...variant, ratios: [] as number[] }))
  try {
    for (let time = 0; time < STARTS; time++) {
      for (const { name, ratios, start: begin } of variants) {
        const starts = [off, begin] as const
        const [compared] = await compareStarts(starts, { upstream, ownFirst: time % 2 === 1, works: WORKS })
        if (compared === undefined) continue
        const { other, own } = compared
        ratios.push(own / other)
        console.log(`${name}: CPU µs a request ${other.toFixed(1)} → ${own.toFixed(1)}`)
      }
    }
  } finally {
    upstream.stop()
    receiver.stop()
  }
  return variants.map((variant) => report(variant, percentile(variant.ratios, 50))).every(Boolean)
}

function report({ name, budget }: Variant, ratio: number): boolean {
  console.log(`${name}: ${ratio.toFixed(3)} × the CPU of a request${budget === undefined ? '' : `, budget ${budget}`}`)
  return budget === undefined || ratio <= budget
}

function variantsOf(off: Start, port: number): readonly Variant[] {
  const capturing: Start = (options) =>
    off({ ...options, config: { ...options?.config, content_capture: { allow: true } } })
  return [
    { name: 'equal processes', start: off },
    {
      name: 'tracing at 100 %',
      start: (options) => off({ ...options, env: { ...options?.env, ...exportTo(port) } }),
      budget: BUDGETS.tracingCpuRatio,
    },
    { name: 'a guardrail, off', start: prepared(off, '/v1/guardrails', DISABLED), budget: BUDGETS.unusedCpuRatio },
    { name: 'content capture allowed, off', start: capturing, budget: BUDGETS.unusedCpuRatio },
    { name: 'content capture of every request', start: prepared(capturing, '/v1/content-capture', { enabled: true }) },
  ]
}

const DISABLED = { name: 'off', rules: [{ kind: 'secrets', action: 'mask' }], enabled: false }

/** Sends a setting of the account, whose keys are those of the load. */
function prepared(begin: Start, path: string, body: object): Start {
  return async (options): Promise<Gateway> => {
    const gateway = await begin(options)
    const method = path === '/v1/guardrails' ? 'POST' : 'PUT'
    const { status, text } = await send(gateway, path, { key: await gateway.key(), method, body })
    if (status >= 300) throw new Error(`${path}: ${status} ${text}`)
    return gateway
  }
}

function exportTo(port: number): Readonly<Record<string, string>> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_TRACES_SAMPLER: 'always_on',
    OTEL_BSP_MAX_QUEUE_SIZE: '65536',
  }
}
