/**
 * Admission while the database is away, where the operator allows it: each account may have so much under way that nobody
 * can check against its credit. It is noted on the local disk first, and charged when the database is back.
 */
import { type HoldAsk, MIN_FLEXIBLE_TOKENS } from '../../domain/credit.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { chargeNanoUsd } from '../../domain/price.ts'
import type { PlanTerms, SettleUnit } from './unit.ts'

export interface Exposure {
  /** What one account may still be admitted for. */
  left(accountId: AccountId): NanoUsd
  /** @param nanoUsd What was admitted or charged; below zero: what is not outstanding any more. */
  add(accountId: AccountId, nanoUsd: NanoUsd): void
}

/** Counts, for each account, what is held or charged and in no database. @param limit For each account. */
export function createExposure(limit: () => NanoUsd): Exposure {
  const outstanding = new Map<AccountId, NanoUsd>() // only accounts that have any
  return {
    left: (accountId) => limit() - (outstanding.get(accountId) ?? 0n),
    add(accountId, nanoUsd) {
      const sum = (outstanding.get(accountId) ?? 0n) + nanoUsd
      if (sum === 0n) outstanding.delete(accountId)
      else outstanding.set(accountId, sum)
    },
  }
}

/**
 * What of a request fits, by the same rule as in the database: one that named no maximum is lowered to what does.
 * @returns Tokens of one choice and what they cost at worst; undefined: it does not fit.
 */
export function fitExposure(
  ask: HoldAsk,
  left: NanoUsd,
): { readonly outputTokens: number; readonly nanoUsd: NanoUsd } | undefined {
  const asked = worstCost(ask, ask.outputTokens)
  if (asked <= left) return { outputTokens: ask.outputTokens, nanoUsd: asked }
  const { inputMicroUsd, outputMicroUsd, fixedNanoUsd } = ask.rates
  const picoAToken = BigInt(outputMicroUsd) * BigInt(ask.choices)
  const pico = (left - BigInt(fixedNanoUsd)) * 1000n - BigInt(ask.promptTokens) * BigInt(inputMicroUsd)
  const outputTokens = pico < 0n || picoAToken === 0n ? 0 : Number(pico / picoAToken)
  if (!ask.flexible || outputTokens < MIN_FLEXIBLE_TOKENS) return undefined
  return { outputTokens, nanoUsd: worstCost(ask, outputTokens) }
}

/** What is charged should this process die before it knows better: the prompt, as for every hold. */
export function intentUnit(ask: HoldAsk, terms: PlanTerms): SettleUnit {
  const record: SettleUnit['record'] = {
    id: ask.id,
    accountId: ask.caller.accountId,
    keyId: ask.caller.keyId,
    model: ask.model,
    provider: ask.provider,
    status: 'incomplete',
    stream: ask.stream,
    finishReason: undefined,
    promptTokens: ask.promptTokens,
    completionTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    costNanoUsd: worstCost(ask, 0),
    priceVersion: ask.priceVersion,
    usageSource: 'estimated',
    createdAt: ask.createdAt,
    durationMs: 0,
    firstByteMs: undefined,
    attempts: 1,
    attemptLog: undefined,
    clientRequestId: ask.clientRequestId,
  }
  return { kind: 'settle', record, terms, unrecorded: true, provisional: true, kept: undefined }
}

function worstCost({ promptTokens, choices, rates }: HoldAsk, outputTokens: number): NanoUsd {
  const { inputMicroUsd, outputMicroUsd, fixedNanoUsd } = rates
  const tokens = { prompt: promptTokens, completion: outputTokens * choices }
  return chargeNanoUsd(tokens, { inputMicroUsd, outputMicroUsd }) + BigInt(fixedNanoUsd)
}
