/** Clients of the money simulator: what they ask, how they behave, and what they saw of the answer. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT, send } from '../../support/client.ts'
import type { Gateway } from '../../support/gateway.ts'
import { type BillingProvider, type CallPlan, TARIFFS } from './billing-provider.ts'
import type { Random } from './scenario.ts'

export interface SimulatedAccount {
  readonly id: string
  readonly key: string
  /** Never short of credit. */
  readonly rich: boolean
}

/** A gateway that may be replaced at any time; undefined while it starts. */
export interface Slot {
  gateway: Gateway | undefined
  /** When processes were killed: `performance.now()`. */
  readonly deaths: number[]
}

export interface Asked {
  readonly plan: CallPlan
  readonly account: SimulatedAccount
  /** With an `Idempotency-Key`: asked again until there is an answer. */
  readonly keyed: boolean
  readonly startedAt: number
  endedAt: number
  /** When its client first left: `performance.now()`. */
  leftAt: number | undefined
  /** Processes that worked for it. */
  readonly slots: Set<Slot>
  ending: 'whole' | 'broken' | 'refused' | 'left' | 'lost'
  status: number
  /** As the client was shown it. */
  costUsd: number | undefined
}

export interface Crowd {
  readonly provider: BillingProvider
  readonly slots: readonly Slot[]
  readonly accounts: readonly SimulatedAccount[]
  readonly random: Random
  readonly asked: Asked[]
}

const REPEATS = 4

/** Asks without a pause until the signal; one in six times a burst of requests that run out of credit together. */
export async function runClient(crowd: Crowd, over: AbortSignal): Promise<void> {
  const { accounts, slots, random } = crowd
  while (!over.aborted) {
    if (slots.every(({ gateway }) => gateway === undefined)) {
      await sleep(100)
      continue
    }
    const account = pick(random, accounts)
    const burst = random() < 0.15 ? 8 : 1
    await Promise.all(Array.from({ length: burst }, () => request(crowd, account)))
    await sleep(random() * 100)
  }
}

async function request(crowd: Crowd, account: SimulatedAccount): Promise<void> {
  const { random, asked, provider } = crowd
  const plan = planOf(random, asked.length)
  const keyed = random() < 0.25
  const startedAt = performance.now()
  const slots = new Set<Slot>()
  const one: Asked = {
    plan,
    account,
    keyed,
    startedAt,
    endedAt: startedAt,
    leftAt: undefined,
    slots,
    ending: 'lost',
    status: 0,
    costUsd: undefined,
  }
  asked.push(one)
  provider.plan(plan)
  const leaves = random() < 0.2 ? random() * 1_500 : undefined
  const twice = keyed && random() < 0.2
  await Promise.all([attempt(crowd, one, leaves), twice ? attempt(crowd, one, undefined) : undefined])
  for (let time = 0; keyed && time < REPEATS && (one.ending === 'left' || one.ending === 'lost'); time++) {
    await sleep(random() * 1_000)
    await attempt(crowd, one, undefined)
  }
  one.endedAt = performance.now()
}

async function attempt({ slots, random }: Crowd, one: Asked, leaveMs: number | undefined): Promise<void> {
  const alive = slots.filter(({ gateway }) => gateway !== undefined)
  const slot = pick(random, alive)
  const gateway = slot?.gateway
  if (gateway === undefined) return
  one.slots.add(slot)
  const { name, model, stream, prompt, maxTokens, tier } = one.plan
  const content = `${name}${' hello'.repeat(prompt)}`
  const left = new AbortController()
  const leave = (): void => {
    one.leftAt ??= performance.now()
    left.abort()
  }
  const timer = leaveMs === undefined ? undefined : setTimeout(leave, leaveMs)
  try {
    const { status, text } = await send(gateway, CHAT, {
      key: one.account.key,
      body: {
        model,
        stream,
        max_tokens: maxTokens,
        messages: [{ role: 'user', content }],
        ...(tier === undefined ? {} : { service_tier: tier }),
        ...(stream ? { stream_options: { include_usage: true } } : {}),
      },
      headers: { 'x-client-request-id': name, ...(one.keyed ? { 'idempotency-key': name } : {}) },
      signal: left.signal,
      fresh: true,
    })
    see(one, status, text)
  } catch {
    if (one.ending === 'lost' && left.signal.aborted) one.ending = 'left'
  } finally {
    clearTimeout(timer)
  }
}

function see(one: Asked, status: number, text: string): void {
  if (one.ending === 'whole') return
  one.status = status
  if (status !== 200) {
    one.ending = 'refused'
    return
  }
  if (text.includes('"error":')) one.ending = 'broken'
  else if (!one.plan.stream || text.endsWith('data: [DONE]\n\n')) one.ending = 'whole'
  one.costUsd = Number(/"cost":([\d.e-]+)/.exec(text)?.[1])
}

const MODELS = Object.keys(TARIFFS)
const LIES = ['nothing', 'nonsense', 'too much', 'too little'] as const

function planOf(random: Random, index: number): CallPlan {
  const below = (limit: number) => Math.floor(random() * limit)
  const prompt = random() < 0.6 ? 5 + below(100) : 200 + below(900)
  const cached = random() < 0.4 ? below(prompt) : 0
  const model = pick(random, MODELS)
  const long = random() < 0.05
  const stream = random() < 0.65
  const ignoresLimit = random() < (stream ? 0.08 : 0.2)
  const words = ignoresLimit ? (stream ? below(250) : 400 + below(600)) : long ? 100 + below(150) : below(60)
  return {
    name: `sim-${index}`,
    model,
    stream,
    prompt,
    cached,
    written: random() < 0.3 ? below(prompt - cached) : 0,
    words: Math.max(1, words),
    maxTokens: ignoresLimit || random() < 0.2 ? 20 : 300,
    gapMs: long ? 40 : ignoresLimit && !stream ? 0 : 5 + below(12),
    ignoresLimit,
    tier: model === 'served' && random() < 0.6 ? pick(random, ['flex', 'priority']) : undefined,
    says: random() < 0.12 ? pick(random, LIES) : 'truth',
    failures: random() < 0.05 ? 1 : 0,
    cutAfter: random() < 0.05 ? 1 + below(20) : undefined,
  }
}

function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T
}
