/** A virtual model whose weights shift from one model to another by reloads, while requests arrive at a steady rate. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT, eventually, getJson, hello } from './client.ts'
import { startGateway } from './gateway.ts'
import { type SteadyAnswer, startLoad } from './http/steady-load.ts'
import { reconcile } from './ledger/money.ts'

export interface CanaryLoad {
  readonly perSecond: number
  /** One reload in each, by which the canary gets an equal step more. */
  readonly seconds: number
}

export interface CanaryReport {
  readonly answers: readonly SteadyAnswer[]
  /** Those sent after the last reload, which leaves nothing to the stable model. */
  readonly later: readonly SteadyAnswer[]
  readonly perSecond: number
  /** Whether the sums of the ledger agree afterwards. */
  readonly isReconciled: boolean
}

/** Fewer under way than the gateway, when its event loop is late, begins to reject at. */
const AT_ONCE = 30
/** The provider is the simulator, in the gateway's own process: what is measured is the gateway. */
const DEPLOYMENTS = [{ provider: 'simulator', model: 'turnpike-simulator' }]
const PROMPT = 'simulate: say Hi\nsimulate: pace 0'

export async function shiftCanary({ perSecond, seconds }: CanaryLoad): Promise<CanaryReport> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-canary-'))
  const file = join(folder, 'turnpike.yaml')
  writeFileSync(file, configOf(0))
  const gateway = await startGateway({ env: { TURNPIKE_CONFIG: file }, logFile: join(folder, 'gateway.log') })
  try {
    const key = await gateway.key()
    const bodies = [false, true].map((stream) =>
      JSON.stringify(hello({ model: 'chat', stream, messages: [{ role: 'user', content: PROMPT }] })),
    )
    const beganAt = performance.now()
    const load = startLoad({ port: gateway.port, key, path: CHAT, bodies, perSecond, atOnce: AT_ONCE })
    for (let second = 1; second <= seconds; second++) {
      await sleep(1000)
      const weight = (100 * second) / seconds
      writeFileSync(file, configOf(weight))
      gateway.signal('SIGHUP')
      await eventually(
        () => getJson<Listed>(gateway, key, '/v1/models/chat'),
        ({ virtual }) => virtual.candidates[1]?.weight === weight,
      )
    }
    const shiftedAt = performance.now()
    await sleep(500)
    const answers = await load.stop()
    const ms = performance.now() - beganAt
    return {
      answers,
      later: answers.filter(({ sentAt }) => sentAt > shiftedAt),
      perSecond: (answers.length / ms) * 1000,
      isReconciled: (await reconcile(gateway, key)).ok === true,
    }
  } finally {
    await gateway.stop()
    rmSync(folder, { recursive: true })
  }
}

interface Listed {
  readonly virtual: { readonly candidates: readonly { readonly weight: number }[] }
}

function configOf(canary: number): string {
  const price = { input_per_million: 1, output_per_million: 2 }
  return JSON.stringify({
    providers: { simulator: { protocol: 'simulator' } },
    models: ['stable', 'canary'].map((id) => ({ id, pricing: price, deployments: DEPLOYMENTS })),
    virtual_models: [
      {
        id: 'chat',
        strategy: 'weighted',
        candidates: [
          { model: 'stable', weight: 100 - canary },
          { model: 'canary', weight: canary },
        ],
      },
    ],
    plans: { unlimited: { requests_per_minute: 1_000_000 } },
  })
}
