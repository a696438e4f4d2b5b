import type { MigrationStatement } from './statement.ts'

/** As in `0028-rejections`, but `key_id` may be null: a request without a valid credential, listed for the first account. */
const rejection = `create table rejection_new (
  account_id text not null references account (id),
  request_id text not null check (request_id <> ''),
  created_at integer not null check (created_at >= 0),
  key_id text check (key_id <> ''),
  endpoint text not null check (endpoint <> ''),
  model text,
  status integer not null check (status >= 400 and status < 500),
  code text not null check (code <> ''),
  primary key (account_id, request_id)
) strict, without rowid`

export const rejectionsOfNobody: readonly MigrationStatement[] = [
  { postgres: 'alter table rejection alter column key_id drop not null' },
  { sqlite: rejection },
  { sqlite: 'insert into rejection_new select * from rejection' },
  { sqlite: 'drop table rejection' },
  { sqlite: 'alter table rejection_new rename to rejection' },
  { sqlite: 'create index rejection_by_time on rejection (created_at)' },
]
