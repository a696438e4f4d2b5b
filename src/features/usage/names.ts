/** What people call the keys, devices, people, agents, teams and accounts that usage is booked on. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import type { AccountId, AgentId, DeviceId, KeyId, TeamId, UserId } from '../../domain/ids.ts'

const IDS_PER_QUERY = 500

export type Names = ReadonlyMap<string, string>

/**
 * By `key_id` of usage: a key's name, what a device calls itself and whose it is, a person's e-mail address. Who is gone
 * is absent. Revoked keys and devices are not.
 */
export async function namesOfKeys(db: Kysely<Database>, accountId: AccountId, ids: Iterable<string>): Promise<Names> {
  const all = [...new Set(ids)]
  const startingWith = (prefix: string) => all.filter((id) => id.startsWith(prefix))
  return new Map([
    ...(await inPieces(startingWith('key_') as KeyId[], (piece) => namesOfApiKeys(db, accountId, piece))),
    ...(await inPieces(startingWith('dev_') as DeviceId[], (piece) => namesOfDevices(db, accountId, piece))),
    ...(await inPieces(startingWith('usr_') as UserId[], (piece) => namesOfPeople(db, piece))),
  ])
}

/** By agents' ids; those that were deleted are absent. */
export async function namesOfAgents(db: Kysely<Database>, accountId: AccountId, ids: Iterable<string>): Promise<Names> {
  return new Map(
    await inPieces([...ids] as AgentId[], async (piece) => {
      const query = db.selectFrom('agent').select(['id', 'name']).where('account_id', '=', accountId)
      return (await query.where('id', 'in', piece).execute()).map(({ id, name }) => [id, name] as const)
    }),
  )
}

export async function namesOfAccounts(db: Kysely<Database>, ids: Iterable<string>): Promise<Names> {
  return new Map(
    await inPieces([...ids] as AccountId[], async (piece) => {
      const rows = await db.selectFrom('account').select(['id', 'name']).where('id', 'in', piece).execute()
      return rows.map(({ id, name }) => [id, name] as const)
    }),
  )
}

export async function namesOfTeams(db: Kysely<Database>, accountId: AccountId, ids: Iterable<string>): Promise<Names> {
  return new Map(
    await inPieces([...new Set(ids)] as TeamId[], async (piece) => {
      const query = db.selectFrom('team').select(['id', 'name']).where('account_id', '=', accountId)
      return (await query.where('id', 'in', piece).execute()).map(({ id, name }) => [id, name] as const)
    }),
  )
}

type Named = readonly (readonly [id: string, name: string])[]

async function inPieces<Id>(ids: readonly Id[], read: (piece: readonly Id[]) => Promise<Named>): Promise<Named> {
  const found: (readonly [string, string])[] = []
  for (let from = 0; from < ids.length; from += IDS_PER_QUERY) {
    found.push(...(await read(ids.slice(from, from + IDS_PER_QUERY))))
  }
  return found
}

async function namesOfApiKeys(db: Kysely<Database>, accountId: AccountId, ids: readonly KeyId[]): Promise<Named> {
  const query = db.selectFrom('api_key').select(['id', 'name']).where('account_id', '=', accountId)
  return (await query.where('id', 'in', ids).execute()).map(({ id, name }) => [id, name])
}

async function namesOfDevices(db: Kysely<Database>, accountId: AccountId, ids: readonly DeviceId[]): Promise<Named> {
  const rows = await db
    .selectFrom('device')
    .leftJoin('person', 'person.id', 'device.user_id')
    .select(['device.id', 'device.client_id', 'person.email'])
    .where('device.account_id', '=', accountId)
    .where('device.id', 'in', ids)
    .execute()
  return rows.map(({ id, client_id: client, email }) => [
    id,
    email === null ? `device "${client}"` : `device "${client}" of ${email}`,
  ])
}

async function namesOfPeople(db: Kysely<Database>, ids: readonly UserId[]): Promise<Named> {
  const rows = await db.selectFrom('person').select(['id', 'email']).where('id', 'in', ids).execute()
  return rows.map(({ id, email }) => [id, email])
}
