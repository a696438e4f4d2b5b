/** Audit log: one row for each change of rights, members, keys, money settings, and each sign-in. Append-only. */
import type { AccountId } from './ids.ts'

export interface AuditEvent {
  readonly accountId: AccountId
  readonly actor: AuditActor
  /** Noun and verb in the past: `key.created`, `member.role_changed`, `session.started`, `device.approved`. */
  readonly action: string
  /** ID of the affected object; undefined: the account itself. */
  readonly subject: string | undefined
  /** `denied`: the action was attempted and rejected. */
  readonly result: 'done' | 'denied'
  readonly address: string | undefined
  readonly userAgent: string | undefined
  readonly requestId: string | undefined
  /** Names, roles, scopes and similar values. Never a secret. */
  readonly details: Readonly<Record<string, string | number | boolean | null | readonly string[]>>
}

export interface AuditActor {
  readonly kind: 'key' | 'token' | 'session' | 'command_line' | 'system'
  /** The ID of the key, the device or the user. Undefined for the command line and the system. */
  readonly id: string | undefined
  /** Label at that time: the e-mail address, the name of the key. */
  readonly name: string | undefined
}
