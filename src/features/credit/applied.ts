/** What most units have in common: they move nothing, or little. */
import type { AccountState, Applied, World } from './rules.ts'

/** To be spread under what does move. */
export const NOTHING: Applied = {
  account: undefined,
  key: undefined,
  hold: undefined,
  rows: [],
  alerts: [],
  completion: undefined,
  corrects: undefined,
  outcome: { kind: 'done' },
}

/** The hold was resolved before, or is there already. */
export const ALREADY: Applied = { ...NOTHING, outcome: { kind: 'already' } }

/** Undefined where the account is as the store has it. */
export function changed(account: AccountState, world: World): AccountState | undefined {
  return account === world.account ? undefined : account
}
