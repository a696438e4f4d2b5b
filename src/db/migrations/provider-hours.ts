/** Calls to each provider by hour, of all accounts: what operators see as its health. */
export const providerHours: readonly string[] = [
  `create table provider_hour (
  provider text not null check (provider <> ''),
  hour integer not null check (hour >= 0),
  calls integer not null check (calls >= 0),
  failures integer not null check (failures between 0 and calls),
  last_answer_at integer not null check (last_answer_at >= 0),
  last_failure_at integer not null check (last_failure_at >= 0),
  last_failure_outcome text,
  last_failure_status integer,
  last_failure_model text,
  primary key (provider, hour)
) strict, without rowid`,
]
