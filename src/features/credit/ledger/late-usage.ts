/**
 * Keeps the sums by dimension exact (`features/usage/dimension-sums.ts`). A job adds completions up to `summed_until`, which
 * is an hour ago at least; what is written or corrected behind that is copied, and the job adds the copies.
 */

/** Completions that are younger than this cannot be summed yet: they need no copy. */
export const LATE_AFTER_MS = 30 * 60_000

const COPIED = [
  ...['created_at', 'key_id', 'team_id', 'model', 'provider', 'session_id', 'end_user', 'tags', 'client_request_id'],
  ...['request_id', 'prompt_tokens', 'completion_tokens', 'cost_nano_usd', 'provider_cost_nano_usd'],
]

/**
 * Copies completions that the sums are past.
 * @param which What follows `from completion`: a join or a condition that selects them.
 */
export function copyLate(sign: '1' | '-1', which: { readonly join?: string; readonly where?: string }): string {
  const { join = '', where = 'true' } = which
  return `insert into usage_late (account_id, id, part, sign, ${COPIED.join(', ')})
select completion.account_id, completion.id,
  (select coalesce(max(part), -1) + 1 from usage_late as known
    where known.account_id = completion.account_id and known.id = completion.id),
  ${sign}, ${COPIED.map((name) => `completion.${name}`).join(', ')}
from completion ${join}
join usage_progress on usage_progress.account_id = completion.account_id
where completion.created_at < usage_progress.summed_until and ${where}`
}

/* Exports of completions (`features/exports/jobs.ts`) are at least twice as far behind. */

/** Completions that are younger than this are not exported yet: they need no mark. */
export const MARKED_AFTER_MS = 5 * 60_000

/**
 * Marks completions for every export, which may be past them; it is not compared how far each is, since a transaction that
 * moves it may run at the same time. A mark that is there is counted: its completion may have been read already.
 * @param which As of `copyLate`.
 */
export function markLate({ join = '', where = 'true' }: Parameters<typeof copyLate>[1]): string {
  return `insert into analytics_export_late (export, account_id, id, marks)
select analytics_export.name, completion.account_id, completion.id, 1
from completion ${join} cross join analytics_export where ${where}
on conflict (account_id, id, export) do update set marks = analytics_export_late.marks + 1`
}
