/** Null: the price has four rates only; the usage had none of the seldom classes; the row is older than the column. */
export const tariffs: readonly string[] = [
  'alter table price_version add column tariff text',
  'alter table completion add column usage_detail text',
  'alter table completion add column price_rule text',
]
