/**
 * The judge of the money simulator: every row of the gateway against the provider's own bill. What was reported honestly is
 * equal to the nano-dollar; whatever is not needs a reason that the rules know.
 */
import type { LedgerRow, UsageRow } from '../../support/ledger/money.ts'
import {
  type BilledCall,
  type BillingProvider,
  billOf,
  mostOf,
  promptTokensOf,
  TARIFFS,
  type Used,
} from './billing-provider.ts'
import type { Asked } from './simulated-clients.ts'

export interface SimulatedRow extends UsageRow {
  readonly model: string
  readonly cached_tokens: number | null
  readonly cache_write_tokens: number | null
  readonly unbilled_usd: number
  readonly attempts: number
}

/** What tokenizers disagree about. */
const NEAR_TOKENS = 20
/** How late the end of a connection is seen, besides what is measured: what is generated meanwhile is on the way. */
const SEEN_WITHIN_MS = 500
/** What a prompt may be at most: a token a byte, and what providers add around it, as the gateway bounds it. */
const MOST_WRAPPING_TOKENS = 2_000
const MOST_RATIO = 1.1
/** A settlement may be written so long after the client has its answer. */
const SETTLED_WITHIN_MS = 5_000
/** What a provider that lies may make of an answer; see `usage-bounds.ts` of the gateway. */
const LEAST_RATIO = 16
const BYTES_A_WORD = ' hello'.length
const BEYOND_LIMIT_TOKENS = 1_024
/** A running estimate, which is what is charged for a dead process, counts tokens by bytes. */
const BYTES_A_TOKEN = 4
/** A reset takes what was not read yet with it: the first words may never have arrived. */
const EARLY_WORDS = 3

export type Reason = 'exact' | 'bounded' | 'estimated' | 'capped' | 'free' | 'held'

export interface Judged {
  readonly reasons: Readonly<Record<Reason, number>>
  readonly differences: readonly string[]
  /** Nano-dollars of rows that were reported honestly, on both sides. */
  readonly honest: { readonly billed: number; readonly charged: number }
}

export interface Evidence {
  readonly asked: readonly Asked[]
  readonly provider: BillingProvider
  readonly rows: readonly SimulatedRow[]
  /** Requests of killed processes may still be held: nobody waited for the sweep. */
  readonly mayBeHeld: boolean
}

export function judge({ asked, provider, rows, mayBeHeld }: Evidence): Judged {
  const reasons = { exact: 0, bounded: 0, estimated: 0, capped: 0, free: 0, held: 0 }
  const honest = { billed: 0, charged: 0 }
  const byName = Map.groupBy(rows, ({ client_request_id: name }) => name ?? '')
  const differences = asked.flatMap((one) => {
    const own = byName.get(one.plan.name) ?? []
    const calls = provider.bills.get(one.plan.name) ?? []
    const story = { one, calls, rows: own, paid: own.filter((row) => nano(row) > 0), mayBeHeld }
    const { reason, faults } = examine(story)
    reasons[reason] += 1
    if (own.some(({ unbilled_usd: unbilled }) => unbilled > 0)) reasons.capped += 1
    if (reason === 'exact') {
      honest.billed += billOf(one.plan.model, (calls.at(-1) as BilledCall).used)
      honest.charged += nano(own[0] as SimulatedRow)
    }
    return faults.map(
      (fault) =>
        `${fault}: ${JSON.stringify({ ...one, account: one.account.id, slots: [...one.slots].length, calls, rows: own })}`,
    )
  })
  const unasked = rows.filter(({ client_request_id: name }) => !asked.some(({ plan }) => plan.name === name))
  return {
    reasons,
    honest,
    differences: [...differences, ...unasked.map((row) => `nobody asked: ${JSON.stringify(row)}`)],
  }
}

interface Story {
  readonly one: Asked
  readonly calls: readonly BilledCall[]
  readonly rows: readonly SimulatedRow[]
  readonly paid: readonly SimulatedRow[]
  readonly mayBeHeld: boolean
}

interface Examined {
  readonly reason: Reason
  readonly faults: readonly string[]
}

function examine(story: Story): Examined {
  const { one, calls, rows, paid, mayBeHeld } = story
  const killed = wasKilled(one)
  if (paid.length > 1) return { reason: 'free', faults: [`charged ${paid.length} times`] }
  // What dies before its first event is tried again, and the operator pays for it.
  const call = calls.at(-1)
  if (!calls.slice(0, -1).every(diedEarly)) return { reason: 'free', faults: ['the provider was called twice'] }
  const row = paid[0] ?? rows[0]
  if (row === undefined) {
    const held = call !== undefined && killed && mayBeHeld
    return { reason: held ? 'held' : 'free', faults: call === undefined || held ? [] : ['generated, and not metered'] }
  }
  if (nano(row) === 0) {
    const isFree = call === undefined || diedEarly(call) || isCutUnseen(one, call)
    const faults = isFree ? [] : ['generated, and free']
    return { reason: 'free', faults }
  }
  if (call === undefined) {
    const isPromptAlone = row.usage_source === 'estimated' && row.completion_tokens === 0
    // Who has sent a request cannot know whether it was read before its connection was closed.
    const isUnread = killed || (row.status === 'client_left' && row.attempts === 1)
    return { reason: 'estimated', faults: isPromptAlone && isUnread ? [] : ['charged, and never generated'] }
  }
  if (row.usage_source === 'provider') return { reason: 'exact', faults: exactFaults(one, call, row) }
  const faults = row.usage_source === 'bounded' ? boundedFaults(one, call, row) : estimatedFaults(story, call, row)
  return {
    reason: row.usage_source === 'bounded' ? 'bounded' : 'estimated',
    faults: [...faults, ...priceFaults(row, killed)],
  }
}

function diedEarly({ used, whole }: BilledCall): boolean {
  return !whole && used.output <= EARLY_WORDS
}

/**
 * A whole answer arrives at its end: where its process gave it up before, having lost its lease, the client received 503
 * and the operator pays.
 */
function isCutUnseen({ plan, ending }: Asked, { whole }: BilledCall): boolean {
  return !plan.stream && !whole && ending === 'refused'
}

function exactFaults({ plan, ending, costUsd }: Asked, { used }: BilledCall, row: SimulatedRow): string[] {
  const faults: string[] = []
  const billed = billOf(plan.model, used)
  if (nano(row) !== billed) faults.push(`charged ${nano(row)} instead of ${billed} nano-dollars`)
  if (row.prompt_tokens !== used.prompt || row.completion_tokens !== used.output) faults.push('other tokens')
  if (plan.says !== 'truth') faults.push(`believed ${plan.says}`)
  if (ending === 'whole' && (row.status !== 'completed' || costUsd !== row.cost_usd))
    faults.push(`the client was shown ${costUsd}, the row says ${row.status} and ${row.cost_usd}`)
  return faults
}

function boundedFaults({ plan }: Asked, { used }: BilledCall, row: SimulatedRow): string[] {
  const faults: string[] = []
  if (plan.says !== 'too much' && plan.says !== 'too little') faults.push('bounded, and no lie')
  const bytes = used.output * BYTES_A_WORD
  const most = Math.max(plan.maxTokens, Math.min(bytes, 2 * plan.maxTokens + BEYOND_LIMIT_TOKENS))
  const least = Math.ceil(used.output / LEAST_RATIO)
  if (row.completion_tokens > most || row.completion_tokens < least)
    faults.push(`not within ${least} and ${most} tokens`)
  if (row.prompt_tokens > mostPrompt(plan) || row.prompt_tokens < used.prompt) faults.push('prompt out of bounds')
  return faults
}

/** By what a client that left, a broken or silent provider, or a dead process leaves to know. */
function estimatedFaults({ one }: Story, { used, overAt }: BilledCall, row: SimulatedRow): string[] {
  const { plan, ending } = one
  const killed = wasKilled(one)
  const isSilent = plan.says === 'nothing' || plan.says === 'nonsense'
  if (ending === 'whole' && !isSilent) return ['whole and honest, and estimated']
  const faults: string[] = []
  const tokens = row.completion_tokens
  // What was not seen is charged by the time that it took, within the hold.
  const goneMs = one.leftAt === undefined || overAt === undefined ? 0 : Math.max(0, overAt - one.leftAt)
  const near = NEAR_TOKENS + (SEEN_WITHIN_MS + goneMs) / Math.max(1, plan.gapMs)
  const most = plan.stream ? used.output + near : Math.max(plan.maxTokens, used.output + near)
  if (killed) {
    const byBytes = (used.output * BYTES_A_WORD) / BYTES_A_TOKEN + near
    if (tokens > Math.max(most, byBytes)) faults.push(`more than the ${used.output} tokens that were generated`)
    return row.prompt_tokens > mostPrompt(plan) ? [...faults, 'prompt out of bounds'] : faults
  }
  if (tokens > most) faults.push(`more than the ${used.output} tokens that were generated`)
  if (plan.stream && tokens < used.output - near) faults.push(`fewer than the ${used.output} tokens generated`)
  const prompt = promptTokensOf(plan)
  if (Math.abs(row.prompt_tokens - prompt) > NEAR_TOKENS + prompt / 5)
    faults.push(`not the ${prompt} tokens of the prompt`)
  return faults
}

/** The price is that of the row's tokens, whoever counted them; an estimate of a dead process may be at the highest rates. */
function priceFaults(row: SimulatedRow, killed: boolean): string[] {
  const { model, prompt_tokens: prompt, completion_tokens: output } = row
  const own = { prompt, output, cached: row.cached_tokens ?? 0, written: row.cache_write_tokens ?? 0 }
  const tiers = [undefined, ...Object.keys(TARIFFS[model]?.tiers ?? {})]
  const prices = tiers.map((tier) => billOf(model, { ...own, tier } satisfies Used))
  if (prices.includes(nano(row)) || (killed && nano(row) <= mostOf(model, { prompt, output }))) return []
  return [`${nano(row)} is no price of its tokens: ${prices.join(', ')}`]
}

function mostPrompt({ name, prompt }: Asked['plan']): number {
  return MOST_RATIO * (name.length + BYTES_A_WORD * prompt) + MOST_WRAPPING_TOKENS
}

function wasKilled({ slots, startedAt, endedAt }: Asked): boolean {
  return [...slots].some(({ deaths }) => deaths.some((at) => at >= startedAt && at <= endedAt + SETTLED_WITHIN_MS))
}

/** With what the overrun cap left unbilled. */
function nano({ cost_usd: cost, unbilled_usd: unbilled }: SimulatedRow): number {
  return Math.round(cost * 1e9) + Math.round(unbilled * 1e9)
}

/** Of all that the account ever had: a balance changes with a row of the ledger and never else. */
export function lowestBalance(rows: readonly LedgerRow[]): number {
  return Math.min(0, ...rows.map(({ balance_usd: balance }) => balance))
}
