/** Requests for the views about them: of two keys and two agents, one that was tried three times, one by estimate. */

import { agentReference } from '../../../src/domain/agent.ts'
import type { AgentId, CompletionId, KeyId } from '../../../src/domain/ids.ts'
import type { Dashboard, SeedOptions } from '../browser/dashboard.ts'
import { testIds } from '../database.ts'
import { completionRecord, recordCompletions } from '../ledger/completions.ts'

export interface SeededRequests {
  readonly keys: readonly { readonly id: KeyId; readonly secret: string }[]
  readonly agentId: AgentId
  /** Is no more. */
  readonly goneAgentId: AgentId
  /** Answered at the third try; its cost is 78 × $1.25/M + 4,736 × $0.125/M + 10 × $10/M = $0.0007895. */
  readonly retried: CompletionId
  /** Its tokens were counted by the gateway, and its cost was rounded up. */
  readonly estimated: CompletionId
}

const MODEL = 'gpt-5.4-mini'
const PRICE = 'price_of_seed'

export async function seedRequests(dashboard: Dashboard, options: SeedOptions = {}): Promise<SeededRequests> {
  const { firstAccount: accountId, database } = dashboard
  const keys = [await dashboard.newKey('Checkout service'), await dashboard.newKey('Nightly evaluation')]
  const [{ id: keyId } = { id: 'key_none' as KeyId }] = keys
  await dashboard.seed(
    keys.map(({ id }) => id),
    options,
  )
  const price = { input_micro_usd: 1_250_000, output_micro_usd: 10_000_000, cached_input_micro_usd: 125_000 }
  await database.db
    .insertInto('price_version')
    .values({ ...price, id: PRICE, model: MODEL, cache_write_micro_usd: null, first_seen_at: 1 })
    .execute()
  const common = { accountId, keyId, model: MODEL, provider: 'openai', priceVersion: PRICE, stream: true }
  const retried = completionRecord({
    ...common,
    ...{ promptTokens: 4814, cachedTokens: 4736, completionTokens: 10, costNanoUsd: 789_500n },
    ...{ createdAt: Date.now() - 50_000, durationMs: 3200, firstByteMs: 2150, attempts: 3, clientRequestId: 'cart-7' },
    attemptLog: [
      { provider: 'azure', model: 'gpt-54-mini', outcome: 'overloaded', status: 503, startedMs: 2, durationMs: 640 },
      { provider: 'azure', model: 'gpt-54-mini', outcome: 'failed', status: 0, startedMs: 900, durationMs: 310 },
      { provider: 'openai', model: MODEL, outcome: 'answered', status: 200, startedMs: 1210, durationMs: 940 },
    ],
  })
  const estimated = completionRecord({
    ...common,
    ...{ promptTokens: 7, cachedTokens: 1, completionTokens: 3, costNanoUsd: 37_625n, usageSource: 'estimated' },
    ...{ createdAt: Date.now() - 40_000, durationMs: 900, firstByteMs: 400, status: 'client_left', api: 'messages' },
  })
  const agents = [testIds.agent(), testIds.agent()] as const
  const counts = { key_id: keyId, runs: 1, messages: 1, events: 1, created_at: Date.now() }
  const about = { name: 'Mend the flaky test', repository: 'acme/shop', model: MODEL, creator: '{}' }
  await database.db
    .insertInto('agent')
    .values({ ...about, ...counts, status: 'completed', account_id: accountId, id: agents[0] })
    .execute()
  const ofAgents = agents.flatMap((agentId, index) =>
    [1, 2, 3].map((number) =>
      completionRecord({
        ...common,
        ...{
          promptTokens: 900 * number,
          completionTokens: 120 + index,
          costNanoUsd: 1_234_567n * BigInt(number + index),
        },
        ...{ createdAt: Date.now() - 45_000 - number * 100, clientRequestId: agentReference(agentId, testIds.run()) },
      }),
    ),
  )
  await recordCompletions(database, [retried, estimated, ...ofAgents])
  return { keys, agentId: agents[0], goneAgentId: agents[1], retried: retried.id, estimated: estimated.id }
}
