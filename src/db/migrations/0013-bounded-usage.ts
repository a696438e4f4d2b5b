/**
 * Usage that was reported outside of what can be, the part of a cost beyond `max_overrun_usd`, and the cap of an account.
 * No conditions: they would read every row that is there. `usage_source` keeps its own, so a flag stands beside it.
 */
export const boundedUsage: readonly string[] = [
  'alter table completion add column usage_bounded integer',
  'alter table completion add column unbilled_nano_usd integer',
  'alter table credit add column max_overrun_nano_usd integer',
]
