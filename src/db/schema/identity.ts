/** The tables of people and of what signs in for them, as queries see them; conventions as in `schema.ts`. */
import type { Generated } from 'kysely'
import type { Role, TeamRole } from '../../domain/identity/caller.ts'
import type {
  AccountId,
  AuditId,
  DeviceId,
  GroupId,
  GuardrailId,
  InvitationId,
  KeyId,
  ProviderCredentialId,
  SessionId,
  TeamId,
  TelemetryDestinationId,
  UserId,
} from '../../domain/ids.ts'

/** A person, who may be a member of several accounts. */
export interface PersonTable {
  id: UserId
  /** A label, and where mail goes; not what a person is known by. */
  email: string
  name: string
  created_at: number
  disabled_at: number | null
  changed_at: number
}

/** A credential of an account's own at a provider. */
export interface GuardrailTable {
  account_id: AccountId
  id: GuardrailId
  name: string
  /** JSON list of `GuardrailRule`. */
  rules: string
  /** JSON list of team IDs; null, as the keys: of the whole account. */
  teams: string | null
  /** JSON list of key IDs. */
  keys: string | null
  enabled: 0 | 1
  created_by: UserId | null
  created_at: number
  updated_at: number
}

export interface ProviderCredentialTable {
  account_id: AccountId
  id: ProviderCredentialId
  /** The operator's name of the provider. */
  provider: string
  /** Whose requests it is for, with those of the keys that this one created; null: all of the account. */
  key_id: KeyId | null
  name: string
  /** Sealed for its account, ID and provider. */
  secret: Uint8Array
  last4: string
  allow_fallback: 0 | 1
  status: ProviderCredentialStatus
  last_tested_at: number | null
  /** Null: no person did, or a key that no person created. */
  created_by: UserId | null
  created_at: number
  rotated_at: number | null
}

/** `verified`: the provider accepted it. `untested`: nobody knows. `refused`: the provider refused it. */
export type ProviderCredentialStatus = 'verified' | 'untested' | 'refused'

/** Keys, agents and requests of a team have its limits. */
export interface TeamTable {
  account_id: AccountId
  id: TeamId
  name: string
  /** JSON list; empty: all. */
  models: string
  /** JSON list; empty: all. */
  endpoints: string
  requests_per_minute: number | null
  /** See `policyText`; null: none. */
  data_policy: string | null
  /** As on keys. */
  tags: Generated<string | null>
  require_tags: Generated<string | null>
  created_at: number
  archived_at: number | null
  /** Grows with every change of the row, see `nextChangedAt`. */
  changed_at: number
}

export interface TeamMemberTable {
  account_id: AccountId
  team_id: TeamId
  user_id: UserId
  role: TeamRole
  /** A group of an identity provider put them here, and may remove them. */
  by_group: 0 | 1
  created_at: number
}

/** People whom an identity provider provisions by SCIM. */
export interface ScimUserTable {
  account_id: AccountId
  user_id: UserId
  user_name: string
  user_name_lower: string
  email_lower: string
  external_id: string | null
  active: 0 | 1
  /** JSON object: what the identity provider sent. */
  resource: string
  created_at: number
  updated_at: number
}

export interface ScimGroupTable {
  account_id: AccountId
  id: GroupId
  display_name: string
  display_name_lower: string
  external_id: string | null
  created_at: number
  updated_at: number
}

export interface ScimGroupMemberTable {
  account_id: AccountId
  group_id: GroupId
  user_id: UserId
}

/** What groups of an identity provider mean for roles and teams. */
export interface GroupMappingTable {
  account_id: AccountId
  group_name: string
  /** Empty: the role is one in the account. */
  team_id: TeamId | ''
  role: Role | TeamRole
}

/** Under what an identity provider knows a person. */
export interface IdentityTable {
  issuer: string
  subject: string
  user_id: UserId
  email: string | null
  created_at: number
  last_used_at: number
}

export interface MemberTable {
  account_id: AccountId
  user_id: UserId
  role: Role
  created_at: number
  removed_at: number | null
  changed_at: number
}

export interface InvitationTable {
  account_id: AccountId
  id: InvitationId
  role: Role
  /** Whom it was meant for; a label. */
  email: string | null
  /** The user, or the creator of the key that invited; null: nobody. */
  created_by: UserId | null
  /** The API key that invited; null: no key did. */
  key_id: KeyId | null
  created_at: number
  expires_at: number
  used_at: number | null
  used_by: UserId | null
  revoked_at: number | null
}

/** A browser that is signed in. */
export interface SessionTable {
  id: SessionId
  /** SHA-256 of the cookie. */
  secret_hash: Uint8Array
  user_id: UserId
  /** The account that it acts in at the moment. */
  account_id: AccountId
  created_at: number
  renewed_at: number
  expires_at: number
  ended_at: number | null
  address: string | null
  user_agent: string | null
  changed_at: number
}

/** A device flow under way (RFC 8628). */
export interface DeviceCodeTable {
  /** SHA-256 of the device code. */
  hash: Uint8Array
  /** 8 letters, upper case, without the dash. */
  user_code: string
  client_id: string
  /** JSON list of what was asked for. */
  scopes: string
  address: string | null
  user_agent: string | null
  created_at: number
  expires_at: number
  interval_ms: number
  polled_at: number | null
  state: 'pending' | 'approved' | 'denied' | 'redeemed'
  user_id: UserId | null
  account_id: AccountId | null
  /** Made by the approval. */
  device_id: DeviceId | null
  decided_at: number | null
}

/** A device that was connected by the device flow. */
export interface DeviceTable {
  account_id: AccountId
  id: DeviceId
  user_id: UserId
  client_id: string
  /** JSON list. */
  scopes: string
  address: string | null
  user_agent: string | null
  created_at: number
  last_used_at: number | null
  revoked_at: number | null
  changed_at: number
}

export interface DeviceTokenTable {
  account_id: AccountId
  device_id: DeviceId
  /** SHA-256 of the token. */
  hash: Uint8Array
  kind: 'access' | 'refresh'
  /** Of the family, from 1. */
  generation: number
  /** JSON list, of an access token that was asked for with fewer scopes than its device has; null: the device's. */
  scopes: string | null
  created_at: number
  expires_at: number
  /** When a refresh token was exchanged for its successor. */
  used_at: number | null
}

/** Wrong guesses under a name: an address, a session. */
export interface GuessTable {
  name: string
  wrong: number
  since: number
  blocked_until: number
}

export interface AuditTable {
  account_id: AccountId
  id: AuditId
  actor_kind: 'key' | 'token' | 'session' | 'command_line' | 'system'
  actor_id: string | null
  actor_name: string | null
  action: string
  subject: string | null
  result: 'done' | 'denied'
  address: string | null
  user_agent: string | null
  request_id: string | null
  /** JSON object. */
  details: string
  created_at: number
  /** More than one: attempts that were denied alike, from `created_at` to `last_at`. */
  attempts: Generated<number>
  last_at: number | null
}

/** Where an account sends the traces of its requests. */
export interface TelemetryDestinationTable {
  account_id: AccountId
  id: TelemetryDestinationId
  name: string
  kind: 'otlp' | 'langfuse' | 'langsmith' | 'datadog' | 'honeycomb' | 'grafana_cloud'
  url: string
  /** JSON of the credential and the headers, sealed for the account and the ID. */
  secrets: Uint8Array
  /** Null: requests of the whole account. */
  team_id: TeamId | null
  enabled: 0 | 1
  /** Whether spans have the prompts and answers that content capture stores. */
  content: 0 | 1
  created_at: number
  changed_at: number
}
