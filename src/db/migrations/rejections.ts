/** Rejected requests to models. `request_id` sorts by time. */
const rejection = `create table rejection (
  account_id text not null references account (id),
  request_id text not null check (request_id <> ''),
  created_at integer not null check (created_at >= 0),
  key_id text not null check (key_id <> ''),
  endpoint text not null check (endpoint <> ''),
  model text,
  status integer not null check (status >= 400 and status < 500),
  code text not null check (code <> ''),
  primary key (account_id, request_id)
) strict, without rowid`

export const rejections: readonly string[] = [
  rejection,
  'create index rejection_by_time on rejection (created_at)', // for retention
]
