/**
 * A provider with tariffs and a bill of its own, which share nothing with the gateway's: a long-context tier of either
 * kind, cached and written tokens, service tiers, a fee for each request. What it says of its usage may be a lie; what it
 * bills never is. Its bill goes by the first word of the prompt.
 */
import { bodyOf, chunk, completion, counts, frame, SSE_HEAD } from '../../support/providers/answers.ts'
import { type FakeProvider, type Reply, startFakeProvider } from '../../support/providers/fake-provider.ts'

/** Beside the words of the prompt: what the provider wraps them in. */
const WRAPPING_TOKENS = 5
const LIE_TOKENS = 1_000_000_000
/** A call that fails for a while is tried again by the gateway. */
const FAILURE = JSON.stringify({ error: { message: 'busy', type: 'server_error' } })

/** What a call does, by the request's name. */
export interface CallPlan {
  readonly name: string
  readonly model: string
  readonly stream: boolean
  /** Words of the prompt, a token each. */
  readonly prompt: number
  /** Tokens of the prompt that come from the cache, and that are written to it. */
  readonly cached: number
  readonly written: number
  /** Words of the answer, a token each, as far as `maxTokens` lets it. */
  readonly words: number
  readonly maxTokens: number
  readonly gapMs: number
  /** As the answer names it; undefined: it names none. */
  readonly tier: string | undefined
  /** Of its usage. */
  readonly says: 'truth' | 'nothing' | 'nonsense' | 'too much' | 'too little'
  /** Calls that fail before one is answered. */
  readonly failures: number
  /** Generates all its words, whatever limit it was sent. */
  readonly ignoresLimit: boolean
  /** After so many words the connection is reset; undefined: never. */
  readonly cutAfter: number | undefined
}

/** What is billed for a call. */
export interface Used {
  readonly prompt: number
  readonly cached: number
  readonly written: number
  readonly output: number
  readonly tier: string | undefined
}

/** USD per million tokens. */
interface Rates {
  readonly fresh: number
  readonly cached: number
  readonly written: number
  readonly output: number
}

interface Tariff {
  readonly base: Rates
  readonly above?: { readonly tokens: number; readonly rates: Rates; readonly excessOnly: boolean }
  readonly tiers?: Readonly<Record<string, Rates>>
  readonly feeUsd?: number
}

const rates = (fresh: number, output: number): Rates => ({ fresh, output, cached: fresh / 10, written: fresh * 1.25 })

export const TARIFFS: Readonly<Record<string, Tariff>> = {
  plain: { base: rates(10, 40), feeUsd: 0.0002 },
  long: { base: rates(2, 10), above: { tokens: 300, rates: rates(4, 15), excessOnly: false } },
  excess: { base: rates(3, 12), above: { tokens: 300, rates: rates(6, 18), excessOnly: true }, feeUsd: 0.00005 },
  served: { base: rates(5, 20), tiers: { flex: rates(2.5, 10), priority: rates(10, 40) } },
}

const setting = ({ fresh, cached, written, output }: Rates) => ({
  input_per_million: fresh,
  cached_input_per_million: cached,
  cache_write_per_million: written,
  output_per_million: output,
})

/** The same tariff in the words of the gateway's configuration. */
export function pricingOf(model: string): object {
  const { base, above, tiers = {}, feeUsd } = TARIFFS[model] as Tariff
  return {
    ...setting(base),
    ...(feeUsd === undefined ? {} : { per_request_usd: feeUsd }),
    ...(above === undefined
      ? {}
      : {
          tiers: [
            {
              above_prompt_tokens: above.tokens,
              applies_to: above.excessOnly ? 'excess' : 'request',
              ...setting(above.rates),
            },
          ],
        }),
    service_tiers: Object.fromEntries(Object.entries(tiers).map(([name, own]) => [name, setting(own)])),
  }
}

/** Nano-dollars, rounded up once. Rates have at most three decimals, so a token costs whole pico-dollars. */
export function billOf(model: string, { prompt, cached, written, output, tier }: Used): number {
  const { base, above, tiers = {}, feeUsd = 0 } = TARIFFS[model] as Tariff
  const own = (tier === undefined ? undefined : tiers[tier]) ?? base
  const isLong = above !== undefined && prompt > above.tokens
  // The prompt as a line of tokens: what was cached comes first, then what was written, then the rest.
  const ends = { cached, written: cached + written, fresh: prompt }
  const threshold = !isLong ? prompt : above.excessOnly ? above.tokens : 0
  const priced = (from: number, to: number, rate: 'cached' | 'written' | 'fresh'): number => {
    const below = Math.max(0, Math.min(to, threshold) - from)
    return below * pico(own[rate]) + (to - from - below) * pico((above?.rates ?? own)[rate])
  }
  const input =
    priced(0, ends.cached, 'cached') +
    priced(ends.cached, ends.written, 'written') +
    priced(ends.written, prompt, 'fresh')
  const sum = input + output * pico((isLong ? above.rates : own).output)
  return Math.ceil(sum / 1_000) + Math.round(feeUsd * 1e9)
}

/** At the highest rates of the whole tariff, nano-dollars. */
export function mostOf(model: string, { prompt, output }: Pick<Used, 'prompt' | 'output'>): number {
  const { base, above, tiers = {}, feeUsd = 0 } = TARIFFS[model] as Tariff
  const all = [base, ...(above === undefined ? [] : [above.rates]), ...Object.values(tiers)]
  const input = Math.max(...all.map(({ written }) => pico(written)))
  const most = Math.max(...all.map((each) => pico(each.output)))
  return Math.ceil((prompt * input + output * most) / 1_000) + Math.round(feeUsd * 1e9)
}

/** Of a token. */
function pico(usdPerMillion: number): number {
  return Math.round(usdPerMillion * 1e6)
}

/** What was generated for one call; it grows with each word. */
export interface BilledCall {
  used: Used
  /** The answer was sent to its end. */
  whole: boolean
  /** When it was answered, or its caller was seen to be gone: `performance.now()`. */
  overAt: number | undefined
}

export interface BillingProvider extends Pick<FakeProvider, 'url' | 'close'> {
  /** What the calls of a request will do. */
  plan(plan: CallPlan): void
  /** Calls for which anything was generated, or would have been, by the request's name. */
  readonly bills: ReadonlyMap<string, readonly BilledCall[]>
}

export async function startBillingProvider(): Promise<BillingProvider> {
  const plans = new Map<string, CallPlan>()
  const bills = new Map<string, BilledCall[]>()
  const failed = new Map<string, number>()
  const provider = await startFakeProvider(async (call, reply) => {
    const body = bodyOf(call)
    const name = String(body.messages[0]?.content).split(' ', 1)[0] ?? ''
    const plan = plans.get(name)
    if (plan === undefined) return reply.end()
    const failures = failed.get(name) ?? 0
    if (failures < plan.failures) {
      failed.set(name, failures + 1)
      reply.head(503, { 'content-type': 'application/json' })
      return reply.end(FAILURE)
    }
    const { cached, written, tier } = plan
    const used = { prompt: promptTokensOf(plan), cached, written, output: 0, tier }
    const billed: BilledCall = { used, whole: false, overAt: undefined }
    bills.set(name, [...(bills.get(name) ?? []), billed])
    const limit = Number(body['max_tokens'] ?? body['max_completion_tokens'])
    const words = plan.ignoresLimit ? plan.words : Math.min(plan.words, limit)
    await (plan.stream ? stream : answer)(reply, { plan, billed, words })
    billed.overAt = performance.now()
  })
  return { url: provider.url, close: provider.close, bills, plan: (plan) => void plans.set(plan.name, plan) }
}

export function promptTokensOf({ prompt }: Pick<CallPlan, 'prompt'>): number {
  return prompt + WRAPPING_TOKENS
}

interface Answering {
  readonly plan: CallPlan
  readonly billed: BilledCall
  readonly words: number
}

async function stream(reply: Reply, { plan, billed, words }: Answering): Promise<void> {
  const named = plan.tier === undefined ? {} : { service_tier: plan.tier }
  reply.head(200, SSE_HEAD)
  for (let word = 1; word <= words; word++) {
    billed.used = { ...billed.used, output: word }
    if (!(await reply.write(frame(chunk({ content: ' hello' }, null, named))))) return
    if (plan.cutAfter === word) return reply.reset()
    if (!(await reply.wait(plan.gapMs))) return
  }
  const usage = usageOf(plan, billed.used)
  const last = frame(chunk({}, words < plan.words ? 'length' : 'stop', named))
  const told = usage === undefined ? '' : frame(chunk({}, null, { ...named, choices: [], usage }))
  billed.whole = true
  if (await reply.write(last + told)) reply.end(frame('[DONE]'))
}

async function answer(reply: Reply, { plan, billed, words }: Answering): Promise<void> {
  for (let word = 1; word <= words; word++) {
    billed.used = { ...billed.used, output: word }
    if (plan.gapMs > 0 && !(await reply.wait(plan.gapMs))) return
  }
  const named = plan.tier === undefined ? {} : { service_tier: plan.tier }
  billed.whole = true
  reply.head(200, { 'content-type': 'application/json' })
  const usage = usageOf(plan, billed.used)
  reply.end(JSON.stringify(completion({ content: ' hello'.repeat(words) }, { ...named, usage })))
}

function usageOf({ says }: CallPlan, { prompt, cached, written, output }: Used): object | undefined {
  const details = { prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written } }
  switch (says) {
    case 'truth':
      return { ...counts(prompt, output), ...details }
    case 'nothing':
      return undefined
    case 'nonsense':
      return { prompt_tokens: -prompt, completion_tokens: 'many' }
    case 'too much':
      return { ...counts(LIE_TOKENS, LIE_TOKENS), ...details }
    case 'too little':
      return { ...counts(prompt, 0), ...details }
  }
}
