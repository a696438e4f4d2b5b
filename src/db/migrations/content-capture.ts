/** Prompts and answers of accounts that have them captured; `account.content_capture` has their settings as JSON. */
const completionContent = `create table completion_content (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  key_id text not null check (key_id <> ''),
  user_id text check (user_id <> ''),
  bytes integer not null check (bytes >= 0),
  sealed_with text not null,
  content blob not null,
  created_at integer not null check (created_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

export const contentCapture: readonly string[] = [
  completionContent,
  'create index completion_content_by_account on completion_content (account_id, created_at, bytes)',
  'alter table account add column content_capture text',
]
