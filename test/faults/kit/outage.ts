/** A provider that fails for a while and then is well again: how much it is asked meanwhile, and how soon it serves again. */
import { errorOf } from '../../support/client.ts'
import { model } from '../../support/gateway.ts'
import { type FaultAnswer, type FaultedGateway, startFaultedGateway } from './faulted-gateway.ts'
import { failure, goodAnswer } from './openai-script.ts'
import { type SteadyLoad, steadyLoad, untilFirst } from './steady-load.ts'

export interface Outage {
  readonly faulted: FaultedGateway
  /** Every request at the failing provider for as long as the load lasts. @returns what it came to. */
  fail(model: OutageModel, load: SteadyLoad): Promise<OutageFigures>
  /** It is well again. @returns milliseconds until it has served a request; undefined: not within that time. */
  recover(model: OutageModel, withinMs: number): Promise<number | undefined>
}

/** `alone`: at the failing provider; `pair`: there first, then at another one that is always well. */
export type OutageModel = 'alone' | 'pair'

export interface OutageFigures {
  readonly offered: number
  readonly elapsedMs: number
  /** Calls that the failing provider had. */
  readonly load: number
  /** Of the answers: `200`, or the code of the error. */
  readonly outcomes: Readonly<Record<string, number>>
}

export async function startOutage(breaker: object): Promise<Outage> {
  const faulted = await startFaultedGateway({
    config: (url) => ({
      providers: {
        failing: { protocol: 'openai', base_url: `${url}/failing`, api_key: 'k' },
        spare: { protocol: 'openai', base_url: `${url}/spare`, api_key: 'k' },
      },
      models: [
        model('alone', 'failing', 'up-alone'),
        {
          ...model('pair', 'failing', 'up-pair'),
          deployments: [
            { provider: 'failing', model: 'up-pair', priority: 0 },
            { provider: 'spare', model: 'up-pair', priority: 1 },
          ],
        },
      ],
      routing: { max_attempts: 3, retry_budget: 0.2, breaker },
      plans: { unlimited: { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000 } },
    }),
  })
  const served = new Set<string>()
  let isFailing = true
  const ask = (name: OutageModel): Promise<FaultAnswer> =>
    faulted.ask({
      model: name,
      script: (_, { path, prompt }) => {
        if (path.startsWith('/spare')) return goodAnswer(2)
        if (isFailing) return failure(500)
        served.add(prompt)
        return goodAnswer(2)
      },
    })
  return {
    faulted,
    fail: async (name, load) => {
      isFailing = true
      const startedAt = performance.now()
      const answers = await steadyLoad(load, () => ask(name))
      const elapsedMs = performance.now() - startedAt
      const calls = answers.flatMap((answer) => faulted.callsOf(answer))
      const outcomes = Object.groupBy(answers, (answer) => (answer.status === 200 ? '200' : errorOf(answer).code))
      return {
        offered: answers.length,
        elapsedMs,
        load: calls.filter(({ path }) => path.startsWith('/failing')).length,
        outcomes: Object.fromEntries(Object.entries(outcomes).map(([code, those]) => [code, those?.length ?? 0])),
      }
    },
    recover: (name, withinMs) => {
      isFailing = false
      const isServed = ({ status, prompt }: FaultAnswer): boolean => status === 200 && served.has(prompt)
      return untilFirst(() => ask(name), isServed, { everyMs: 200, withinMs })
    },
  }
}
