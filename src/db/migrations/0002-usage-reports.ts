const usageHour = `create table usage_hour (
  account_id text not null check (account_id <> ''),
  hour integer not null check (hour >= 0),
  key_id text not null check (key_id <> ''),
  model text not null,
  requests integer not null check (requests > 0),
  prompt_tokens integer not null check (prompt_tokens >= 0),
  completion_tokens integer not null check (completion_tokens >= 0),
  cost_nano_usd integer not null check (cost_nano_usd >= 0),
  primary key (account_id, hour, key_id, model)
) strict, without rowid`

const sumsOfWhatIsThere = `insert into usage_hour
  (account_id, hour, key_id, model, requests, prompt_tokens, completion_tokens, cost_nano_usd)
select account_id, created_at / 3600000, key_id, model,
  count(*), sum(prompt_tokens), sum(completion_tokens), sum(cost_nano_usd)
from completion
group by account_id, created_at / 3600000, key_id, model`

/** Partial, so that the ordinary completion, which is nearly every one, still writes no second tree. */
const notCompleted = `create index completion_not_completed on completion (account_id, status, id)
where status <> 'completed'`

export const usageReports: readonly string[] = [usageHour, sumsOfWhatIsThere, notCompleted]
