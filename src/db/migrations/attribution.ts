import type { MigrationStatement } from './statement.ts'

/** Whom requests are for, on the completion and on the hold that becomes one when a process dies; and what keys say of it. */
export const attribution: readonly MigrationStatement[] = [
  ...['completion', 'hold'].flatMap((table) =>
    ['tags', 'session_id', 'end_user', 'request_id'].map((name) => `alter table ${table} add column ${name} text`),
  ),
  'alter table api_key add column tags text',
  'alter table api_key add column require_tags text',
]
