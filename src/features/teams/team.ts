/** A team of an account: its limits, and its row (docs/teams.md). */
import type { Selectable } from 'kysely'
import type { TeamTable } from '../../db/schema/identity.ts'
import { type DataPolicy, policyOf, policyText } from '../../domain/data-policy.ts'
import type { TeamEndpoint, TeamRole } from '../../domain/identity/caller.ts'
import type { AccountId, TeamId, UserId } from '../../domain/ids.ts'
import { readTagColumns, type TagSettings, tagColumns } from '../../http/fields/tags.ts'

/** What an admin of the account sets. Empty lists and undefined mean no limit. */
export interface TeamSettings extends TagSettings {
  readonly name: string
  readonly models: readonly string[]
  readonly endpoints: readonly TeamEndpoint[]
  readonly requestsPerMinute: number | undefined
  readonly dataPolicy: DataPolicy | undefined
}

/** Times are Unix milliseconds. */
export interface Team extends TeamSettings {
  readonly accountId: AccountId
  readonly id: TeamId
  readonly createdAt: number
  readonly archivedAt: number | undefined
}

export interface TeamReference {
  readonly accountId: AccountId
  readonly id: TeamId
}

export interface TeamMember {
  readonly userId: UserId
  readonly email: string
  readonly name: string
  readonly role: TeamRole
  readonly byGroup: boolean
  readonly createdAt: number
}

export function toTeam(row: Selectable<TeamTable>): Team {
  return {
    accountId: row.account_id,
    id: row.id,
    name: row.name,
    models: JSON.parse(row.models) as string[],
    endpoints: JSON.parse(row.endpoints) as TeamEndpoint[],
    requestsPerMinute: row.requests_per_minute ?? undefined,
    dataPolicy: policyOf(row.data_policy),
    ...readTagColumns(row),
    createdAt: row.created_at,
    archivedAt: row.archived_at ?? undefined,
  }
}

/** The columns that hold a team's settings. */
export function settingsColumns({ name, models, endpoints, requestsPerMinute, dataPolicy, ...tags }: TeamSettings) {
  return {
    name,
    models: JSON.stringify(models),
    endpoints: JSON.stringify(endpoints),
    requests_per_minute: requestsPerMinute ?? null,
    data_policy: policyText(dataPolicy),
    ...tagColumns(tags),
  }
}
