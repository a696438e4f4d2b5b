/** What a process last said of itself; null where it has not said so yet. */
export const instances: readonly string[] = [
  'alter table instance add column load_permille integer check (load_permille >= 0)',
  'alter table instance add column lag_ms integer check (lag_ms >= 0)',
  'alter table instance add column active_requests integer check (active_requests >= 0)',
]
