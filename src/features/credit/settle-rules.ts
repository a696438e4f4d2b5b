/** How a hold ends: with the charge of what the request came to, or with nothing. */
import type { CompletionRecord } from '../../domain/completion.ts'
import { alertsOfCharge } from './alert-rules.ts'
import { ALREADY, changed, NOTHING } from './applied.ts'
import { chargeLimit, withinCap } from './charge-limit.ts'
import { applyLateSettlement, isToBeCharged } from './late-settlement.ts'
import { moveCredit } from './ledger-rows.ts'
import { keyInMonth, turnMonth } from './month-turn.ts'
import type { AccountState, Applied, HoldState, KeyState, LedgerRow, World } from './rules.ts'
import type { Outcome, SettleUnit } from './unit.ts'

/**
/**
 * The cost is charged, also above the hold, as far as the account's overrun cap goes (LED-7): that alone takes a balance
 * below zero. What is beyond the cap is recorded and not charged. A settlement that finds no hold corrects what the
 * completion was charged meanwhile, or charges it where nobody has.
 */
export function applySettle(unit: SettleUnit, world: World, now: number): Applied {
  const { terms, unrecorded, promisedNanoUsd } = unit
  const { hold, charged } = world
  if (hold === undefined && charged !== undefined) return applyLateSettlement(unit, { ...world, charged }, now)
  if (hold === undefined && !isToBeCharged(unit, now)) return ALREADY
  const turned = turnMonth(world.account, terms, now)
  const before = hold === undefined ? turned.account : withoutHold(turned.account, hold)
  const exposed = unrecorded ? (promisedNanoUsd ?? unit.record.costNanoUsd) : 0n
  const promised = hold === undefined ? exposed : hold.amount
  const record = withinCap(unit.record, 0n, chargeLimit(before, terms, promised))
  const cost = record.costNanoUsd
  const ended = hold === undefined ? undefined : 'ended'
  const key = world.key && chargedKey(world.key, { hold, cost, month: before.month })
  if (cost === 0n) {
    return {
      ...NOTHING,
      account: changed(before, world),
      key,
      hold: ended,
      rows: turned.rows,
      completion: record,
      outcome: outcomeOf(record),
    }
  }
  const { account, row } = moveCredit(before, chargeOf(record), now)
  return {
    ...NOTHING,
    account,
    key,
    hold: ended,
    rows: withRow(turned.rows, row),
    alerts: alertsOfCharge(before, { account, terms }, now),
    completion: record,
    outcome: outcomeOf(record),
  }
}

function outcomeOf({ unbilledNanoUsd }: CompletionRecord): Outcome {
  return unbilledNanoUsd === undefined ? NOTHING.outcome : { kind: 'done', unbilledNanoUsd }
}

/** Gives a hold back whole. The month is left to the next unit that knows the plan. */
export function applyRelease({ account, key, hold }: World): Applied {
  if (hold === undefined) return ALREADY
  return {
    ...NOTHING,
    account: account && withoutHold(account, hold),
    key: key && hold.ofKeyBudget ? { ...key, held: key.held - hold.amount } : undefined,
    hold: 'ended',
  }
}

/** A key whose spending is counted at all, after a charge and the end of its hold, if it had one. */
export function chargedKey(
  known: KeyState,
  { hold, cost, month }: { readonly hold: HoldState | undefined; readonly cost: bigint; readonly month: number },
): KeyState {
  const key = keyInMonth(known, month)
  const held = hold?.ofKeyBudget === true ? key.held - hold.amount : key.held
  return { month: key.month, spent: key.spent + cost, held }
}

export function withRow(rows: readonly LedgerRow[], row: LedgerRow): readonly LedgerRow[] {
  return rows.length === 0 ? [row] : [...rows, row]
}

function chargeOf(record: CompletionRecord) {
  return {
    kind: 'charge',
    amount: record.costNanoUsd,
    completionId: record.id,
    keyId: record.keyId,
    priceVersion: record.priceVersion,
  } as const
}

function withoutHold(account: AccountState, { amount }: HoldState): AccountState {
  return { ...account, held: account.held - amount }
}
