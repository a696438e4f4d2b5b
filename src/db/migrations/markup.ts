/** What providers charge below the prices of plans with a markup, and what is left of it. */
export const markup: readonly string[] = [
  'alter table completion add column provider_cost_nano_usd integer',
  ...['usage_rollup', 'usage_hour'].map(
    (table) => `alter table ${table} add column margin_nano_usd integer not null default 0`,
  ),
  'alter table price_version add column base_version text',
]
