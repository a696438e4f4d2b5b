/** Changes of API keys: each is decided in one transaction, with the account's keys locked, and recorded in the audit log. */
import type { Kysely, Transaction } from 'kysely'
import { acquireAdvisoryLock } from '../../db/database.ts'
import { MAX_ANCESTORS } from '../../db/lineage.ts'
import type { Database } from '../../db/schema/schema.ts'
import { countRows } from '../../db/shared-queries.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import type { BudgetTerms } from '../../domain/budget.ts'
import { GatewayError, notFound } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import { invalidCredential } from '../../domain/identity/credential.ts'
import type { AccountId, KeyId, TeamId, WebhookId } from '../../domain/ids.ts'
import { limitedKey } from '../../http/caller.ts'
import type { Requester } from '../../http/request-origin.ts'
import type { BudgetPort, FeatureDeps, WriteAudit } from '../deps.ts'
import { loadKeyById } from './authenticator.ts'
import type { ApiKey, KeyRights } from './key.ts'
import { createKey, findKey, type KeyReference, revokeKeys, rotateKey, updateKey } from './queries.ts'
import {
  assertAddressList,
  assertConsistent,
  assertGrantable,
  assertMayChange,
  type Granter,
  grantRights,
  inTeam,
  teamOfNewKey,
} from './rules.ts'

const DAY_MS = 24 * 3_600_000
const SECOND_MS = 1_000

export interface ManageDeps extends Pick<FeatureDeps, 'db' | 'now' | 'ids'> {
  readonly writeAudit: WriteAudit
  /** Keys that an account may have. */
  readonly maxKeys: () => number
  readonly budgets: BudgetPort
}

interface IssuedKey {
  readonly name: string
  /** Undefined: of the account, or of the team of the key that creates it. */
  readonly teamId: TeamId | undefined
  readonly rights: Partial<KeyRights>
  readonly budgets?: readonly BudgetTerms[] | undefined
}

/** Creates a key with the requested rights, or where none are requested the requester's. Throws 403 for more than those. */
export function issueKey(
  deps: ManageDeps,
  requester: Requester,
  { name, teamId: requestedTeam, rights, budgets = [] }: IssuedKey,
): Promise<{ readonly key: ApiKey; readonly secret: string }> {
  const { now, ids, writeAudit, maxKeys } = deps
  const { accountId, userId } = requester.caller
  const requested = budgets.length === 0 ? rights : { ...rights, hasBudgets: true }
  assertAddressList(requested.ipAllowlist ?? [])
  return decide(deps, requester, { action: 'key.created', id: undefined }, async (inside) => {
    await assertKeyQuota(inside, { accountId, maxKeys: maxKeys(), now: now() })
    const teamId = await teamOfNewKey(inside, requester.caller, requestedTeam)
    const granter = await granterOf(inside, inTeam(requester.caller, teamId), now())
    const granted = grantRights(requested, granter)
    assertGrantable(granted, granter)
    assertConsistent(granted)
    const createdBy = userId ?? granter.key?.createdBy // keys that a person's key creates have the same creator
    const key = { accountId, name, createdBy, parentId: granter.key?.id, teamId, ...granted }
    const created = await createKey(inside, key, { now, ids })
    await writeAudit(inside, keyEvent('key.created', requester, created.key))
    if (budgets.length === 0) return created
    await replaceBudgets(deps, inside, { requester, id: created.key.id, budgets })
    return { ...created, key: { ...created.key, hasBudgets: true } }
  })
}

interface Change extends Pick<KeyReference, 'id'> {
  readonly name: string | undefined
  readonly rights: Partial<KeyRights>
  readonly budgets: readonly BudgetTerms[] | undefined
  readonly disabled: boolean | undefined
}

/** Changes name and rights of a key; what is absent stays. Throws 403 for rights beyond the requester's. */
export async function changeKey(
  deps: ManageDeps,
  requester: Requester,
  { id, name, rights: requested, budgets, disabled }: Change,
): Promise<ApiKey> {
  const { now, writeAudit } = deps
  const { accountId } = requester.caller
  const rights = budgets === undefined ? requested : { ...requested, hasBudgets: budgets.length > 0 }
  assertAddressList(rights.ipAllowlist ?? [])
  return decide(deps, requester, { action: 'key.changed', id }, async (inside) => {
    const before = await findKey(inside, { accountId, id })
    if (before === undefined || before.revokedAt !== undefined) throw unknownKey()
    assertMayChange(requester.caller, before)
    const changed = { ...before, ...rights }
    const disabledAt = disabled === undefined ? before.disabledAt : disabled ? (before.disabledAt ?? now()) : undefined
    const isEnabled = disabledAt === undefined && before.disabledAt !== undefined // it grants what the key may do
    if (Object.keys(rights).length > 0 || isEnabled) {
      assertGrantable(changed, await granterOf(inside, inTeam(requester.caller, before.teamId), now()))
      assertConsistent(changed)
    }
    const update = { accountId, id, name: name ?? before.name, rights: changed, disabledAt }
    const after = await updateKey(inside, update, now())
    if (after === undefined) throw unknownKey()
    await writeAudit(inside, keyEvent(actionOf(before, after), requester, after))
    if (budgets === undefined) return after
    await replaceBudgets(deps, inside, { requester, id, budgets })
    return { ...after, hasBudgets: budgets.length > 0 }
  })
}

/** A change of the state has precedence: the log has one entry for each request. */
function actionOf(before: ApiKey, after: ApiKey): KeyAction {
  if (before.disabledAt === after.disabledAt) return 'key.changed'
  return after.disabledAt === undefined ? 'key.enabled' : 'key.disabled'
}

export interface RotationRequest extends Pick<KeyReference, 'id'> {
  /** For which the present secret stays valid. */
  readonly overlapSeconds: number
}

/** Replaces the secret of a key, which keeps everything else. Throws 403 for rights beyond the requester's, who sees it. */
export async function rotateSecret(
  deps: ManageDeps,
  requester: Requester,
  { id, overlapSeconds }: RotationRequest,
): Promise<{ readonly key: ApiKey; readonly secret: string }> {
  const { now, writeAudit } = deps
  const { accountId } = requester.caller
  return decide(deps, requester, { action: 'key.rotated', id }, async (inside) => {
    const before = await findKey(inside, { accountId, id })
    if (before === undefined || before.revokedAt !== undefined) throw unknownKey()
    assertMayChange(requester.caller, before)
    assertGrantable(before, await granterOf(inside, inTeam(requester.caller, before.teamId), now()))
    const rotated = await rotateKey(inside, { key: before, until: now() + overlapSeconds * SECOND_MS }, now())
    if (rotated === undefined) throw unknownKey()
    const event = keyEvent('key.rotated', requester, rotated.key)
    await writeAudit(inside, { ...event, details: { ...event.details, overlap_seconds: overlapSeconds } })
    return rotated
  })
}

interface KeyBudgets {
  readonly requester: Requester
  readonly id: KeyId
  readonly budgets: readonly BudgetTerms[]
}

function replaceBudgets(
  deps: ManageDeps,
  inside: Transaction<Database>,
  { requester: { audited }, id, budgets }: KeyBudgets,
): Promise<void> {
  const subject = { accountId: audited.accountId, level: 'key', id } as const
  return deps.budgets.replace(inside, { subject, budgets, audited })
}

/** @param cascade Whether the keys that it created are revoked, too. */
export async function revokeKey(
  { db, now, writeAudit }: ManageDeps,
  requester: Requester,
  { id, cascade }: { readonly id: KeyId; readonly cascade: boolean },
): Promise<void> {
  const { accountId } = requester.caller
  await db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, `keys of ${accountId}`)
    const key = await findKey(inside, { accountId, id })
    if (key === undefined) throw unknownKey()
    assertMayChange(requester.caller, key)
    const { keys, webhooks } = await revokeKeys(inside, { accountId, id, cascade }, now())
    if (keys.length === 0) throw unknownKey()
    for (const key of keys) await writeAudit(inside, revokedEvent(requester, key, id))
    for (const webhook of webhooks) await writeAudit(inside, webhookDisabled(requester, webhook))
  })
}

/** Runs a decision in a transaction with the account's keys locked. A 403 is written to the audit log, too. */
async function decide<Result>(
  { db, writeAudit }: ManageDeps,
  { caller, audited }: Requester,
  { action, id }: { readonly action: KeyAction; readonly id: KeyId | undefined },
  decision: (inside: Transaction<Database>) => Promise<Result>,
): Promise<Result> {
  try {
    return await db.transaction().execute(async (inside) => {
      await acquireAdvisoryLock(inside, `keys of ${caller.accountId}`)
      return decision(inside)
    })
  } catch (error) {
    if (error instanceof GatewayError && error.status === 403) {
      const details = { param: error.param ?? null }
      await writeAudit(db, { ...audited, action, subject: id, result: 'denied', details })
    }
    throw error
  }
}

/** Reads the limits of a calling key. Rejects with 401 or 403 where it was revoked or limited meanwhile. */
async function granterOf(db: Kysely<Database>, caller: Caller, now: number): Promise<Granter> {
  if (caller.kind !== 'key') return { caller, key: undefined }
  const reference = { accountId: caller.accountId, keyId: caller.keyId }
  const known = await loadKeyById(db, reference)
  const key = await findKey(db, { accountId: caller.accountId, id: caller.keyId })
  if (known === undefined || key === undefined || known.expiresAt <= now) throw invalidCredential()
  if (known.caller.isLimited === true) throw limitedKey()
  if ((known.caller.ancestors?.length ?? 0) >= MAX_ANCESTORS) throw tooDeep()
  return { caller: known.caller, key }
}

function tooDeep(): GatewayError {
  const message = `Keys can create keys up to ${MAX_ANCESTORS} levels deep. Create this key with a key of a higher level, or sign in.`
  return new GatewayError('conflict', message)
}

/** The same for another account's key and for an unknown id. */
function unknownKey(): GatewayError {
  return notFound('active key')
}

type KeyAction = `key.${'created' | 'changed' | 'rotated' | 'disabled' | 'enabled'}`

function keyEvent(action: KeyAction, { audited }: Requester, { id, name, scopes, last4 }: ApiKey): AuditEvent {
  return { ...audited, action, subject: id, result: 'done', details: { name, scopes, last4 } }
}

/** @param requested The key whose revocation was requested: `id` itself, or an ancestor. */
function revokedEvent({ audited }: Requester, id: KeyId, requested: KeyId): AuditEvent {
  const details: Record<string, string> = id === requested ? {} : { with: requested }
  return { ...audited, action: 'key.revoked', subject: id, result: 'done', details }
}

/** A webhook that a revoked key had created. */
function webhookDisabled({ audited }: Requester, id: WebhookId): AuditEvent {
  return { ...audited, action: 'webhook.disabled', subject: id, result: 'done', details: { reason: 'key_revoked' } }
}

interface KeyQuota {
  readonly accountId: AccountId
  readonly maxKeys: number
  /** Unix milliseconds. */
  readonly now: number
}

/** Throws `conflict` at the account's limit. Keys of the last 24 hours count even when revoked, since their rows stay. */
async function assertKeyQuota(inside: Transaction<Database>, { accountId, maxKeys, now }: KeyQuota): Promise<void> {
  const counted = inside
    .selectFrom('api_key')
    .where('account_id', '=', accountId)
    .where((is) =>
      is.or([
        is('created_at', '>', now - DAY_MS),
        is.and([is('revoked_at', 'is', null), is.or([is('expires_at', 'is', null), is('expires_at', '>', now)])]),
      ]),
    )
  if ((await countRows(counted)) < maxKeys) return
  const message = `An account has at most ${maxKeys} API keys, including revoked ones of the last 24 hours. Revoke unused keys.`
  throw new GatewayError('conflict', message)
}
