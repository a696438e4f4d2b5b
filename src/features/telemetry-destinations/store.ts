/** Rows of telemetry destinations. */
import type { Kysely } from 'kysely'
import type { Database, TelemetryDestinationTable } from '../../db/schema/schema.ts'
import type { Sealer } from '../../db/sealed.ts'
import { notFound } from '../../domain/errors.ts'
import type { AccountId, TelemetryDestinationId } from '../../domain/ids.ts'
import type { PageRequest } from '../../http/page.ts'
import type { DestinationSecrets } from './kinds.ts'

export type DestinationRow = TelemetryDestinationTable

export interface DestinationReference {
  readonly accountId: AccountId
  readonly id: TelemetryDestinationId
}

/** What its secrets are sealed for: they open for no other account or destination. */
export function placeOf({ account_id: accountId, id }: Pick<DestinationRow, 'account_id' | 'id'>): string {
  return `telemetry destination ${accountId} ${id}`
}

export function openSecrets(sealer: Sealer, row: DestinationRow): DestinationSecrets | undefined {
  const text = sealer.open(row.secrets, placeOf(row))
  return text === undefined ? undefined : (JSON.parse(text) as DestinationSecrets) // only this feature seals them
}

/** By creation; IDs sort by time. */
export function listDestinations(
  db: Kysely<Database>,
  accountId: AccountId,
  { limit, order, after }: PageRequest<TelemetryDestinationId>,
): Promise<readonly DestinationRow[]> {
  return db
    .selectFrom('telemetry_destination')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(after !== undefined, (query) =>
      query.where('id', order === 'asc' ? '>' : '<', after as TelemetryDestinationId),
    )
    .orderBy('id', order)
    .limit(limit)
    .execute()
}

/** Throws 404 when it is unknown or another account's. */
export async function requireDestination(
  db: Kysely<Database>,
  { accountId, id }: DestinationReference,
): Promise<DestinationRow> {
  const row = await db
    .selectFrom('telemetry_destination')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) throw notFound('telemetry destination')
  return row
}

/** Of all accounts: what a process exports to. */
export function enabledDestinations(db: Kysely<Database>): Promise<readonly DestinationRow[]> {
  return db.selectFrom('telemetry_destination').selectAll().where('enabled', '=', 1).execute()
}

/** Seals again what only the key before has sealed. */
export async function renewSeal(db: Kysely<Database>, sealer: Sealer, row: DestinationRow): Promise<void> {
  const secrets = sealer.renew(row.secrets, placeOf(row))
  if (secrets === undefined) return
  await db
    .updateTable('telemetry_destination')
    .set({ secrets })
    .where('account_id', '=', row.account_id)
    .where('id', '=', row.id)
    .where('secrets', '=', row.secrets)
    .execute()
}
