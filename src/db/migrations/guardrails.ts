/** Rules about what prompts and answers of an account may contain. `rules`, `teams` and `keys` are JSON lists. */
const guardrail = `create table guardrail (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  name text not null check (name <> ''),
  rules text not null check (json_valid(rules)),
  teams text check (teams is null or json_valid(teams)),
  keys text check (keys is null or json_valid(keys)),
  enabled integer not null check (enabled in (0, 1)),
  created_by text,
  created_at integer not null check (created_at >= 0),
  updated_at integer not null check (updated_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

export const guardrails: readonly string[] = [guardrail, 'alter table account add column guardrails integer']
