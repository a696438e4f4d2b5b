/**
 * `npm run bench -- --tracing`: the CPU time of a request with every request traced, exported to a receiver on loopback, against
 * that of the same gateway without tracing, second by second in turn. A third gateway, without tracing either, shows how
 * much two equal processes differ here. That the code costs nothing while tracing is off is `--against` an older checkout.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startGateway } from '../test/support/gateway.ts'
import { compareStarts, type Start } from './against.ts'
import { BUDGETS } from './budgets.ts'
import { percentile, start } from './processes.ts'

const STARTS = 3
const WORKS = [{ figure: 'JSON, 64 in flight', work: { model: 'json', stream: false }, inFlight: 64 }] as const

/** @returns whether tracing costs no more than its budget. */
export async function benchTracing(): Promise<boolean> {
  const [upstream, receiver] = [await start('upstream.ts'), await start('otlp-sink.ts')]
  const logFile = join(mkdtempSync(join(tmpdir(), 'turnpike-tracing-')), 'gateways.log')
  const off: Start = (options) => startGateway({ ...options, logFile })
  const on: Start = (options) =>
    startGateway({ ...options, logFile, env: { ...options?.env, ...exportTo(receiver.port) } })
  const ratios = { on: [] as number[], equal: [] as number[] }
  try {
    for (let time = 0; time < STARTS; time++) {
      const isOnFirst = time % 2 === 1
      for (const [name, other] of [
        ['on', on],
        ['equal', off],
      ] as const) {
        const [compared] = await compareStarts([off, other], { upstream, ownFirst: isOnFirst, works: WORKS })
        if (compared === undefined) continue
        ratios[name].push(compared.own / compared.other)
        console.log(
          `tracing ${name === 'on' ? 'on at 100 %' : 'off'}: CPU µs a request ${compared.other.toFixed(1)} → ${compared.own.toFixed(1)}`,
        )
      }
    }
  } finally {
    upstream.stop()
    receiver.stop()
  }
  const [ratio, noise] = [percentile(ratios.on, 50), percentile(ratios.equal, 50)]
  console.log(
    `CPU of a request with tracing at 100 %: ${ratio.toFixed(3)} ×, of equal processes ${noise.toFixed(3)} ×, budget ${BUDGETS.tracingCpuRatio}`,
  )
  return ratio <= BUDGETS.tracingCpuRatio
}

function exportTo(port: number): Readonly<Record<string, string>> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_TRACES_SAMPLER: 'always_on',
    OTEL_BSP_MAX_QUEUE_SIZE: '65536',
  }
}
