/** What the database has of a completion that was charged: its row, and its entry where that may be corrected. */
import type { CompletionTable, LedgerTable } from '../../db/schema.ts'
import type { PriorCharge } from './rules.ts'

export type ChargedRow = Pick<
  CompletionTable,
  | 'key_id'
  | 'model'
  | 'created_at'
  | 'prompt_tokens'
  | 'completion_tokens'
  | 'cost_nano_usd'
  | 'unbilled_nano_usd'
  | 'status'
  | 'usage_source'
>

export type ChargeEntry = Pick<LedgerTable, 'number' | 'created_at'>

/** Only the entry of an estimate is asked for. */
export function mayBeCorrected({ status, usage_source: source, cost_nano_usd: cost }: ChargedRow): boolean {
  return status === 'incomplete' && source === 'estimated' && cost > 0n
}

export function priorCharge(row: ChargedRow, entry: PriorCharge['entry']): PriorCharge {
  return {
    keyId: row.key_id,
    model: row.model,
    createdAt: row.created_at,
    promptTokens: row.prompt_tokens,
    completionTokens: row.completion_tokens,
    costNanoUsd: row.cost_nano_usd,
    unbilledNanoUsd: row.unbilled_nano_usd ?? undefined,
    status: row.status,
    usageSource: row.usage_source,
    entry,
  }
}
