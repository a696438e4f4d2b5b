import type { MigrationStatement } from './statement.ts'

/**
 * Keys are disabled for a time, and rotated: the previous secret stays valid until its credential expires.
 * `expiry_alert_due` is when the last alert of an expiry was due, so that each is sent once.
 */
export const keyRotation: readonly MigrationStatement[] = [
  'alter table api_key add column disabled_at integer',
  'alter table api_key add column previous_last4 text',
  'alter table api_key add column previous_until integer',
  'alter table api_key add column expiry_alert_due integer',
  'alter table credential add column expires_at integer',
  "create index credential_of_key on credential (account_id, id) where kind = 'key'",
]
