/** Who asked for a run of an agent, as the caller that they are now: what they may no longer do, the run may not either. */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema.ts'
import type { Caller } from '../domain/caller.ts'
import { GatewayError } from '../domain/errors.ts'
import type { AccountId, DeviceId, UserId } from '../domain/ids.ts'
import { type Role, rightsOfRole } from '../domain/rights.ts'
import type { Creator } from '../features/agents/creator.ts'
import { checkAddress, loadKeyById } from '../features/keys/known-key.ts'
import { findLiveDevice } from '../features/oauth/live-device.ts'
import { inRole } from '../features/oauth/scopes.ts'

export interface CreatorInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
}

/** The result rejects with 401 when they are nobody here any more, and 403 for an address that is not theirs to use. */
export function creatorCallers(input: CreatorInput): (accountId: AccountId, creator: Creator) => Promise<Caller> {
  return async (accountId, creator) => {
    switch (creator.kind) {
      case 'key':
        return callerOfKey(input, accountId, creator)
      case 'token':
        return callerOfDevice(input, accountId, creator)
      case 'session':
        return callerOfMember(input, accountId, creator)
    }
  }
}

async function callerOfKey(
  { db, now }: CreatorInput,
  accountId: AccountId,
  { keyId, address }: Creator,
): Promise<Caller> {
  const key = await loadKeyById(db, { accountId, keyId })
  if (key === undefined) throw gone('The API key that this run was asked for with was revoked.')
  if (key.expiresAt <= now()) throw gone('The API key that this run was asked for with has expired.')
  checkAddress(key, address)
  return key.caller
}

async function callerOfDevice({ db }: CreatorInput, accountId: AccountId, { keyId }: Creator): Promise<Caller> {
  const id = keyId as string as DeviceId // what usage of a device is booked on
  const device = await findLiveDevice(db, { accountId, id })
  const plan = await planOf(db, accountId)
  if (device === undefined || plan === undefined)
    throw gone('The device that this run was asked for with was disconnected.')
  const { userId, role } = device
  return {
    ...PERSON,
    kind: 'token',
    accountId,
    keyId,
    userId,
    role,
    plan,
    scopes: new Set(inRole(device.scopes, role)),
  }
}

async function callerOfMember({ db }: CreatorInput, accountId: AccountId, { keyId, userId }: Creator): Promise<Caller> {
  const role = userId === undefined ? undefined : await roleOf(db, accountId, userId)
  const plan = await planOf(db, accountId)
  if (role === undefined || plan === undefined)
    throw gone('Who asked for this run is no member of the account any more.')
  return { ...PERSON, kind: 'session', accountId, keyId, userId, role, plan, scopes: rightsOfRole(role) }
}

const PERSON = { models: undefined, requestsPerMinute: undefined, monthlyBudgetNanoUsd: undefined }

async function roleOf(db: Kysely<Database>, accountId: AccountId, userId: UserId): Promise<Role | undefined> {
  const row = await db
    .selectFrom('member')
    .innerJoin('person', 'person.id', 'member.user_id')
    .select('member.role')
    .where('member.account_id', '=', accountId)
    .where('member.user_id', '=', userId)
    .where('member.removed_at', 'is', null)
    .where('person.disabled_at', 'is', null)
    .executeTakeFirst()
  return row?.role
}

async function planOf(db: Kysely<Database>, accountId: AccountId): Promise<string | undefined> {
  const row = await db.selectFrom('account').select('plan').where('id', '=', accountId).executeTakeFirst()
  return row?.plan
}

function gone(message: string): GatewayError {
  return new GatewayError('invalid_credential', message)
}
