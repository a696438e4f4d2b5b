/** Money without a database: holds against an amount, noted in the order in which they come. */
import assert from 'node:assert/strict'
import type { CompletionRecord } from '../../../src/domain/completion.ts'
import {
  type CreditPort,
  type Hold,
  type HoldRequest,
  type IdempotencyPort,
  type IdempotentRequest,
  type IdempotentStart,
  MIN_FLEXIBLE_TOKENS,
  type SavedAnswer,
  type SavedResult,
} from '../../../src/domain/credit.ts'
import { GatewayError } from '../../../src/domain/errors.ts'

export interface Settled {
  readonly hold: Hold
  readonly record: CompletionRecord
  readonly kept: SavedResult | undefined
}

export interface FakeCredit {
  readonly port: CreditPort
  readonly asks: readonly HoldRequest[]
  readonly holds: readonly Hold[]
  readonly settled: readonly Settled[]
  /** What was asked for more. */
  readonly extensions: readonly bigint[]
  /** `hold`, `refused`, `dispatched`, `extend`, `settle`, `release`, and what tests add. */
  readonly events: string[]
  /** Holds that are neither settled nor released. */
  open(): number
}

export interface FakeCreditInput {
  /** Undefined: there is always enough. */
  readonly nanoUsd?: bigint
  /** Waited for before a hold is committed. */
  readonly beforeHold?: () => Promise<void>
  /** Waited for before an extension is decided; false refuses it. */
  readonly extend?: (nanoUsd: bigint) => boolean | Promise<boolean>
  /** Waited for before a settlement is committed. */
  readonly beforeCommit?: () => Promise<void>
  readonly unrecorded?: boolean
  readonly events?: string[]
}

/** A hold that is resolved twice, or dispatched when it is over, fails the test at once. */
export function fakeCredit(input: FakeCreditInput = {}): FakeCredit {
  const asks: HoldRequest[] = []
  const holds: Hold[] = []
  const settled: Settled[] = []
  const extensions: bigint[] = []
  const events = input.events ?? []
  const open = new Set<Hold>()
  let extending = false
  const resolve = (hold: Hold): void => void assert.ok(open.delete(hold), `${hold.id} is resolved twice`)
  const heldNanoUsd = (): bigint => [...open].reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n)
  const charged = (): bigint => settled.reduce((sum, { record }) => sum + record.costNanoUsd, 0n)
  const left = (): bigint | undefined =>
    input.nanoUsd === undefined ? undefined : input.nanoUsd - heldNanoUsd() - charged()
  const port: CreditPort = {
    async hold(ask) {
      asks.push(ask)
      if (input.beforeHold !== undefined) await input.beforeHold()
      const outputTokens = affordable(ask, left())
      if (outputTokens === undefined) {
        events.push('refused')
        throw new GatewayError('insufficient_credit', 'Not enough.', { details: { available_usd: 0 } })
      }
      const { id, caller } = ask
      const hold: Hold = {
        id,
        accountId: caller.accountId,
        keyId: caller.keyId,
        outputTokens,
        amountNanoUsd: worstOf(ask, outputTokens),
        unrecorded: input.unrecorded ?? false,
      }
      open.add(hold)
      holds.push(hold)
      events.push('hold')
      return hold
    },
    dispatched(hold) {
      assert.ok(open.has(hold), `${hold.id} is sent without a hold`)
      events.push('dispatched')
    },
    async extend(hold, nanoUsd) {
      assert.ok(!extending, 'one at a time')
      extending = true
      events.push('extend')
      extensions.push(nanoUsd)
      const granted = await (input.extend ?? ((more) => (left() ?? more) >= more))(nanoUsd)
      extending = false
      if (granted) hold.amountNanoUsd += nanoUsd
      return granted && open.has(hold)
    },
    release(hold) {
      resolve(hold)
      events.push('release')
    },
    async settle(hold, record, kept) {
      resolve(hold)
      assert.equal(record.id, hold.id)
      settled.push({ hold, record, kept })
      events.push('settle')
      await input.beforeCommit?.()
      events.push('committed')
    },
  }
  return { port, asks, holds, settled, extensions, events, open: () => open.size }
}

function worstOf({ promptTokens, choices, rates }: HoldRequest, outputTokens: number): bigint {
  const pico =
    promptTokens * rates.inputMicroUsd + outputTokens * choices * rates.outputMicroUsd + rates.fixedNanoUsd * 1000
  return (BigInt(pico) + 999n) / 1000n
}

function affordable(ask: HoldRequest, left: bigint | undefined): number | undefined {
  const { outputTokens } = ask
  if (left === undefined || worstOf(ask, outputTokens) <= left) return outputTokens
  if (!ask.flexible) return undefined
  let tokens = outputTokens
  while (tokens >= MIN_FLEXIBLE_TOKENS && worstOf(ask, tokens) > left) tokens -= 1
  return tokens >= MIN_FLEXIBLE_TOKENS ? tokens : undefined
}

export interface FakeIdempotency {
  readonly port: IdempotencyPort
  readonly asks: readonly IdempotentRequest[]
  /** Answers of keys that are done with. */
  readonly kept: ReadonlyMap<string, SavedAnswer>
  /** Answers with which keys were freed. */
  readonly freed: readonly SavedAnswer[]
  /** Requests that wait, by key. */
  waiting(key: string): number
}

interface Running {
  waiters: ((turn: IdempotentStart) => void)[]
  readonly subjectId: string
  shared: boolean
}

/** Keys in memory, for one account and one endpoint. */
export function fakeIdempotency({ owned = () => true }: { readonly owned?: () => boolean } = {}): FakeIdempotency {
  const asks: IdempotentRequest[] = []
  const kept = new Map<string, SavedAnswer>()
  const freed: SavedAnswer[] = []
  const running = new Map<string, Running>()
  const end = (key: string, answer: SavedAnswer | undefined): void => {
    const { waiters } = running.get(key) ?? assert.fail(`${key} ended twice`)
    running.delete(key)
    for (const wake of waiters) wake({ kind: 'replay', answer: answer ?? assert.fail('too large') })
  }
  const run = (ask: IdempotentRequest): IdempotentStart => {
    const { accountId, endpoint, key } = ask
    const own: Running = { waiters: [], subjectId: ask.subjectId, shared: false }
    running.set(key, own)
    return {
      kind: 'run',
      run: {
        owned,
        waiting: () => own.waiters.length,
        shared() {
          own.shared = true
          for (const wake of own.waiters.splice(0)) wake({ kind: 'shared', subjectId: own.subjectId })
        },
        result: (answer) => ({ accountId, endpoint, key, answer }),
        committed(answer) {
          if (answer !== undefined) kept.set(key, answer)
          end(key, answer)
        },
        freed(answer) {
          freed.push(answer)
          end(key, answer)
        },
      },
    }
  }
  const port: IdempotencyPort = {
    async begin(ask) {
      asks.push(ask)
      const answer = kept.get(ask.key)
      if (answer !== undefined) return { kind: 'replay', answer }
      const other = running.get(ask.key)
      if (other === undefined) return run(ask)
      if (other.shared) return { kind: 'shared', subjectId: other.subjectId }
      return new Promise((resolve) => other.waiters.push(resolve))
    },
  }
  return { port, asks, kept, freed, waiting: (key) => running.get(key)?.waiters.length ?? 0 }
}
