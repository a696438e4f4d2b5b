import type { MigrationStatement } from './statement.ts'

/**
 * Jobs stand in lanes, which take turns. `ready` parts those whose time has come from those that wait for it: whoever
 * chooses among lanes must not pass by what cannot be had.
 */
export const jobs: readonly MigrationStatement[] = [
  "alter table job add column lane text not null default '*' check (lane <> '')",
  'alter table job add column priority integer not null default 5 check (priority between 0 and 9)',
  'alter table job add column failures integer not null default 0 check (failures >= 0)',
  'alter table job add column ready integer not null default 1 check (ready in (0, 1))',
  'update job set ready = 0 where ended_at is null',
  'drop index job_due',
  'create index job_ready on job (kind, lane, priority, run_at, id) where ready = 1 and ended_at is null',
  'create index job_waiting on job (run_at) where ready = 0 and ended_at is null',
  'create index job_running on job (kind, lane) where owner is not null',
]
