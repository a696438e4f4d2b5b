/**
 * Settlements that find no hold: another process took this one for gone and charged an estimate, or the hold is lost. What
 * the request came to is charged exactly all the same, once: the estimate's charge is corrected by an entry that names it,
 * and the completion's row and sums are replaced by the exact ones. A settlement that comes again finds them equal.
 */
import type { CompletionRecord } from '../../domain/completion.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { monthNumber } from '../../lib/months.ts'
import { alertsOfCharge } from './alert-rules.ts'
import { ALREADY, changed, NOTHING } from './applied.ts'
import { chargeLimit, withinCap } from './charge-limit.ts'
import { atLeastZero, LATE_SETTLEMENT, moveCredit } from './ledger-rows.ts'
import { keyInMonth, turnMonth } from './month-turn.ts'
import type { Applied, KeyState, PriorCharge, World } from './rules.ts'
import type { SettleUnit } from './unit.ts'

/** Usage rows are kept for longer: one that is missing was never written. */
const LATEST_MS = 365 * 86_400_000

/** Whether a settlement without a hold and without a row is charged. An estimate of what was held needs its hold. */
export function isToBeCharged({ record, unrecorded, provisional }: SettleUnit, now: number): boolean {
  if (unrecorded) return true
  return !provisional && now - record.createdAt < LATEST_MS
}

interface LateWorld extends World {
  readonly charged: PriorCharge
}

export function applyLateSettlement(unit: SettleUnit, world: LateWorld, now: number): Applied {
  const { terms, provisional } = unit
  const { charged } = world
  if (provisional || !isEstimate(charged) || isSame(charged, unit.record)) return ALREADY
  const turned = turnMonth(world.account, terms, now)
  const { account: before } = turned
  const record = withinCap(unit.record, charged.costNanoUsd, chargeLimit(before, terms, 0n))
  const more = record.costNanoUsd - charged.costNanoUsd
  const outcome = { kind: 'corrected', nanoUsd: more } as const
  if (more === 0n) {
    const account = changed(before, world)
    return { ...NOTHING, account, rows: turned.rows, completion: record, corrects: charged, outcome }
  }
  const unspent = more < 0n && charged.entry !== undefined && monthNumber(charged.entry.createdAt) === before.month
  const { account, row } = moveCredit(before, { ...movementOf(record, charged), unspent }, now)
  return {
    ...NOTHING,
    account,
    key: world.key && correctedKey(world.key, { month: before.month, more: unspent || more > 0n ? more : 0n }),
    rows: [...turned.rows, row],
    alerts: alertsOfCharge(before, { account, terms }, now),
    completion: record,
    corrects: charged,
    outcome,
  }
}

/** What `sweptRecord` and intents say of themselves. A row that is exact is never touched. */
function isEstimate({ status, usageSource }: PriorCharge): boolean {
  return status === 'incomplete' && usageSource === 'estimated'
}

function isSame(charged: PriorCharge, record: CompletionRecord): boolean {
  return (
    charged.costNanoUsd + (charged.unbilledNanoUsd ?? 0n) === record.costNanoUsd &&
    charged.promptTokens === record.promptTokens &&
    charged.completionTokens === record.completionTokens &&
    charged.status === record.status &&
    charged.usageSource === record.usageSource
  )
}

/** An estimate of nothing has no entry that could be corrected: then it is a charge like any other. */
function movementOf(record: CompletionRecord, { costNanoUsd, entry }: PriorCharge) {
  const { id: completionId, keyId, priceVersion } = record
  const more = record.costNanoUsd - costNanoUsd
  const kind = more > 0n ? 'charge' : 'refund'
  const amount = more > 0n ? more : -more
  const whose = { kind, amount, completionId, keyId, priceVersion } as const
  return entry === undefined ? whose : { ...whose, adjusts: entry.number, note: LATE_SETTLEMENT }
}

function correctedKey(known: KeyState, { month, more }: { readonly month: number; readonly more: NanoUsd }): KeyState {
  const key = keyInMonth(known, month)
  return { ...key, spent: atLeastZero(key.spent + more) }
}
