/**
 * `npm run bench -- --tracing`: the CPU time that observing requests adds, as a ratio to the same process without it: every
 * request traced and exported to a receiver on loopback, every request captured, and what is there but off, which must cost
 * nothing. Two processes of the same code differ by up to 20 %, so each is compared with itself, switched on and off in turn.
 * That the code costs nothing where nothing is configured is `--against` an older checkout. `--quick` takes a third of the turns.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { send } from '../test/support/client.ts'
import { type Gateway, startGateway } from '../test/support/gateway.ts'
import { configOf } from './bench-config.ts'
import { BUDGETS } from './budgets.ts'
import { saturate, type Target } from './load.ts'
import { type BenchProcess, cpuMicroseconds, percentile, start } from './processes.ts'

/** Each both off and on. */
const TURNS = process.argv.includes('--quick') ? 6 : 18
/** Until then the engine compiles, and the gateway tests its sandbox. */
const WARM_SECONDS = 8
const TURN_SECONDS = 1
/** Until what a turn left to do (writing, exporting, collecting garbage) is done. */
const SETTLE_MS = 800
const WORK = { model: 'json', stream: false }
const IN_FLIGHT = 64

interface Variant {
  readonly name: string
  readonly config?: object
  readonly env?: Readonly<Record<string, string>>
  /** Returns what switches it. */
  readonly prepare: (gateway: Gateway, key: string) => Promise<Switch>
  /** Undefined: it is only printed. */
  readonly budget?: number
}

/** @returns headers of the requests. */
type Switch = (isOn: boolean) => Promise<Readonly<Record<string, string>>>

/** @returns whether every variant is within its budget. */
export async function benchTracing(): Promise<boolean> {
  const [upstream, receiver] = [await start('upstream.ts'), await start('otlp-sink.ts')]
  const verdicts: boolean[] = []
  try {
    for (const variant of variantsOf(receiver.port)) verdicts.push(report(variant, await ratiosOf(variant, upstream)))
  } finally {
    upstream.stop()
    receiver.stop()
  }
  return verdicts.every(Boolean)
}

/** @returns the CPU of a request, on to off, for each pair of turns. */
async function ratiosOf({ config, env, prepare }: Variant, upstream: BenchProcess): Promise<readonly number[]> {
  const gateway = await startGateway({
    config: { ...configOf(upstream.port), ...config },
    env: { LOG_LEVEL: 'info', ...env },
    logFile: join(mkdtempSync(join(tmpdir(), 'turnpike-tracing-')), 'gateway.log'),
  })
  try {
    const key = await gateway.key()
    const turn = await prepare(gateway, key)
    const load = async (isOn: boolean, seconds = TURN_SECONDS): Promise<number> => {
      const { port, pid } = gateway
      const target: Target = { name: 'gateway', port, pid, key, headers: await turn(isOn) }
      const before = cpuMicroseconds(pid)
      const { requests } = await saturate(target, WORK, { inFlight: IN_FLIGHT, seconds })
      await sleep(SETTLE_MS)
      return (cpuMicroseconds(pid) - before) / requests
    }
    for (const isOn of [true, false, true]) await load(isOn, WARM_SECONDS)
    const ratios: number[] = []
    for (let at = 0; at < TURNS; at++) {
      const isOnFirst = at % 2 === 0
      const [first, second] = [await load(isOnFirst), await load(!isOnFirst)]
      ratios.push(isOnFirst ? first / second : second / first)
    }
    return ratios
  } finally {
    await gateway.stop()
  }
}

function report({ name, budget }: Variant, ratios: readonly number[]): boolean {
  const median = percentile(ratios, 50)
  const range = [25, 75].map((share) => percentile(ratios, share).toFixed(3)).join(' to ')
  const limit = budget === undefined ? '' : `, budget ${budget}`
  console.log(`${name}: ${median.toFixed(3)} × the CPU of a request (half of the turns: ${range})${limit}`)
  return budget === undefined || median <= budget
}

const GUARDRAIL = { name: 'off', rules: [{ kind: 'secrets', action: 'mask' }], enabled: false }

function variantsOf(port: number): readonly Variant[] {
  const url = `http://127.0.0.1:${port}`
  const capture = { content_capture: { allow: true } }
  const destination = {
    path: '/v1/telemetry-destinations',
    body: { name: 'sink', kind: 'otlp', url: `${url}/v1/traces` },
  }
  const [traced, unused] = [BUDGETS.tracingCpuRatio, BUDGETS.unusedCpuRatio]
  return [
    { name: 'nothing', prepare: () => Promise.resolve(() => Promise.resolve({})) },
    {
      name: 'tracing at 100 % for the operator',
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_MAX_QUEUE_SIZE: '65536' },
      prepare: () => Promise.resolve((isOn) => Promise.resolve({ traceparent: `${TRACE}-${isOn ? '01' : '00'}` })),
      budget: traced,
    },
    {
      name: 'tracing at 100 % for an account',
      config: { telemetry: { allow_private_networks: true } },
      prepare: existing(destination),
      budget: traced,
    },
    { name: 'a guardrail, off', prepare: existing({ path: '/v1/guardrails', body: GUARDRAIL }), budget: unused },
    { name: 'content capture of another key', config: capture, prepare: capturing('another key'), budget: unused },
    { name: 'content capture of every request', config: capture, prepare: capturing('all') },
  ]
}

/** A parent whose decision the sampler follows. */
const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7'

/** Creates it to switch on, and deletes it to switch off. */
function existing({ path, body }: { readonly path: string; readonly body: object }): Variant['prepare'] {
  return (gateway, key) => {
    let id = ''
    return Promise.resolve(async (isOn) => {
      if (id !== '') await call(gateway, `${path}/${id}`, { key, method: 'DELETE' })
      id = isOn ? (JSON.parse(await call(gateway, path, { key, method: 'POST', body })) as { id: string }).id : ''
      return {}
    })
  }
}

/** @param keyOf Whose requests alone are captured. */
function capturing(keyOf: 'all' | 'another key'): Variant['prepare'] {
  return async (gateway, key) => {
    const { id } = JSON.parse(await gateway.cli('keys', 'create', '--name', 'another', '--json')) as { id: string }
    return async (enabled) => {
      const body = { enabled, keys: keyOf === 'all' ? null : [id] }
      await call(gateway, '/v1/content-capture', { key, method: 'PUT', body })
      return {}
    }
  }
}

/** @returns the body of the answer. */
async function call(gateway: Gateway, path: string, request: Parameters<typeof send>[2]): Promise<string> {
  const { status, text } = await send(gateway, path, request)
  if (status >= 300) throw new Error(`${path}: ${status} ${text}`)
  return text
}
