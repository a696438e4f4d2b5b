/** Webhook endpoints in the database, and their changes: each in one transaction with its audit row. */
import { randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Static } from 'typebox'
import { acquireAdvisoryLock } from '../../db/dialect.ts'
import type { Database, WebhookTable } from '../../db/schema/schema.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, WebhookId } from '../../domain/ids.ts'
import { type WebhookEventType, webhookTestData } from '../../domain/webhook-event.ts'
import { mintWebhookSecret } from '../../domain/webhook-signature.ts'
import type { AuditedRequest } from '../../http/request-origin.ts'
import { BATCH_ROWS, type Dependants, deleteDependants, dependantsJob } from '../../jobs/batched-deletion.ts'
import type { JobKind } from '../../jobs/job.ts'
import { checkTarget, checkTargetAddresses, type ResolveAddresses } from '../../net/guarded-agent.ts'
import type { FeatureDeps, RecordEvent, WriteAudit } from '../deps.ts'
import type { ListPage } from './events.ts'
import type { WebhookSecrets } from './secrets.ts'
import type { WebhookCreate, WebhookPatch } from './shapes.ts'

export interface WebhooksDeps extends FeatureDeps {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
  readonly writeAudit: WriteAudit
  readonly recordEvent: RecordEvent
  readonly secrets: WebhookSecrets
  /** What is configured now. */
  readonly allowPrivateNetworks: () => boolean
  /** Who knows the addresses of a name; the usual ones by default. */
  readonly resolve?: ResolveAddresses | undefined
}

/** Who asks for a change, and from where. */
export interface Asker {
  readonly caller: Caller
  readonly audited: AuditedRequest
}

export interface WithSecret {
  readonly row: WebhookTable
  /** Returned here only. */
  readonly secret: string
}

const MAX_WEBHOOKS = 20
const SECOND_MS = 1_000

export async function createWebhook(
  deps: WebhooksDeps,
  asker: Asker,
  body: Static<typeof WebhookCreate>,
): Promise<WithSecret> {
  const { db, now, ids, secrets, recordEvent, writeAudit } = deps
  const { accountId } = asker.caller
  const types = withoutRepeats(body.events ?? null)
  const url = await checkedUrl(deps, body.url)
  const id = ids.webhook()
  const secret = mintWebhookSecret(randomBytes)
  const row: WebhookTable = {
    account_id: accountId,
    id,
    url,
    events: types === null ? null : JSON.stringify(types),
    description: body.description ?? '',
    secret: secrets.seal(secret, id),
    previous_secret: null,
    previous_until: null,
    failing_since: null,
    disabled_at: null,
    disabled_reason: null,
    ...(await creatorOf(db, asker)),
    created_at: now(),
  }
  await db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, lockNameOf(accountId))
    await assertRoom(inside, accountId)
    await insertWebhook(inside, row)
    await recordEvent(inside, { accountId, type: 'webhook.test', data: webhookTestData(id), only: id })
    await writeAudit(inside, webhookEvent('webhook.created', asker, row))
  })
  return { row, secret }
}

/** Only the fields that are there. */
export async function changeWebhook(
  deps: WebhooksDeps,
  asker: Asker,
  { id, body }: { readonly id: WebhookId; readonly body: Static<typeof WebhookPatch> },
): Promise<WebhookTable> {
  const { db, now, writeAudit } = deps
  const reference = { accountId: asker.caller.accountId, id }
  const changes = await parseChanges(deps, body)
  const changed = await db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, lockNameOf(reference.accountId))
    const before = await findWebhook(inside, reference)
    if (before === undefined) return undefined
    const switched = switchChanges(before, body.status, now())
    const isAdopted = changes.url !== undefined || (body.status === 'enabled' && before.disabled_at !== null)
    const all = { ...changes, ...switched, ...(isAdopted ? await creatorOf(inside, asker) : {}) }
    if (Object.keys(all).length === 0) return before
    const after = await updateWebhook(inside, reference, all)
    if (after !== undefined) await writeAudit(inside, webhookEvent(actionOf(before, after), asker, after))
    return after
  })
  if (changed === undefined) throw unknownWebhook()
  return changed
}

export async function removeWebhook(deps: WebhooksDeps, asker: Asker, id: WebhookId): Promise<void> {
  const reference = { accountId: asker.caller.accountId, id }
  const removed = await deps.db.transaction().execute(async (inside) => {
    const row = await deleteWebhook(inside, reference)
    if (row === undefined) return false
    await deleteDependants(inside, DEPENDANTS, { ...deps, owner: reference })
    await deps.writeAudit(inside, webhookEvent('webhook.deleted', asker, row))
    return true
  })
  if (!removed) throw unknownWebhook()
}

/** @param overlap Seconds in which the old secret signs as well. */
export async function rotateSecret(
  deps: WebhooksDeps,
  asker: Asker,
  { id, overlap }: { readonly id: WebhookId; readonly overlap: number },
): Promise<WithSecret> {
  const { db, now, secrets, writeAudit } = deps
  const reference = { accountId: asker.caller.accountId, id }
  const secret = mintWebhookSecret(randomBytes)
  const row = await db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, lockNameOf(reference.accountId))
    const before = await findWebhook(inside, reference)
    if (before === undefined) return undefined
    const after = await updateWebhook(inside, reference, {
      secret: secrets.seal(secret, id),
      previous_secret: overlap === 0 ? null : before.secret,
      previous_until: overlap === 0 ? null : now() + overlap * SECOND_MS,
    })
    if (after !== undefined) {
      const event = webhookEvent('webhook.secret_rotated', asker, after)
      await writeAudit(inside, { ...event, details: { ...event.details, overlap_seconds: overlap } })
    }
    return after
  })
  if (row === undefined) throw unknownWebhook()
  return { row, secret }
}

/** The same for another account's endpoint and for one that never was. */
export function unknownWebhook(): GatewayError {
  return new GatewayError('not_found', 'No webhook endpoint has this id.')
}

/** Throws 404 where there is none, and 409 where it is disabled: what it would be sent could only fail. */
export async function assertEnabled(db: Kysely<Database>, reference: WebhookReference): Promise<void> {
  const row = await findWebhook(db, reference)
  if (row === undefined) throw unknownWebhook()
  if (row.disabled_at === null) return
  throw new GatewayError('conflict', 'This endpoint is disabled. Enable it first: PATCH it with {"status": "enabled"}.')
}

/**
 * Whose it is from now on: it sends for as long as they are there. Also whoever changes its address or enables it, so that
 * no key has events sent anywhere for longer than it is good for.
 */
async function creatorOf(
  db: Kysely<Database>,
  { caller: { kind, accountId, keyId, userId } }: Asker,
): Promise<Pick<WebhookTable, 'created_by' | 'key_id' | 'creator_gone_at'>> {
  if (kind !== 'key') return { created_by: userId ?? null, key_id: null, creator_gone_at: null }
  const key = await db
    .selectFrom('api_key')
    .select('created_by')
    .where('account_id', '=', accountId)
    .where('id', '=', keyId)
    .executeTakeFirst()
  return { created_by: key?.created_by ?? null, key_id: keyId, creator_gone_at: null }
}

function lockNameOf(accountId: AccountId): string {
  return `webhooks of ${accountId}`
}

async function assertRoom(db: Kysely<Database>, accountId: AccountId): Promise<void> {
  if ((await countWebhooks(db, accountId)) < MAX_WEBHOOKS) return
  const message = `An account has at most ${MAX_WEBHOOKS} webhook endpoints. Delete one, or send more events to one of them.`
  throw new GatewayError('conflict', message)
}

/** As whoever delivers will read it. Throws 400 for an address that nothing may be sent to. */
async function checkedUrl({ allowPrivateNetworks, resolve }: WebhooksDeps, text: string): Promise<string> {
  const rule = { allowPrivateNetworks: allowPrivateNetworks() }
  const url = checkTarget(text, rule)
  await checkTargetAddresses(url, resolve === undefined ? rule : { ...rule, resolve })
  return url.href
}

/** Another address begins without failures. */
async function parseChanges(deps: WebhooksDeps, { url, events, description }: Static<typeof WebhookPatch>) {
  const types = events === undefined ? undefined : withoutRepeats(events)
  return {
    ...(description === undefined ? {} : { description }),
    ...(types === undefined ? {} : { events: types === null ? null : JSON.stringify(types) }),
    ...(url === undefined ? {} : { url: await checkedUrl(deps, url), failing_since: null }),
  }
}

function switchChanges(before: WebhookTable, status: 'enabled' | 'disabled' | undefined, now: number) {
  if (status === 'enabled') return { disabled_at: null, disabled_reason: null, failing_since: null }
  if (status === undefined || before.disabled_at !== null) return {}
  return { disabled_at: now, disabled_reason: 'by_request' as const }
}

type WebhookAction = `webhook.${'created' | 'changed' | 'enabled' | 'disabled' | 'deleted' | 'secret_rotated'}`

function actionOf(before: WebhookTable, after: WebhookTable): WebhookAction {
  const [was, is] = [before.disabled_at === null, after.disabled_at === null]
  if (was === is) return 'webhook.changed'
  return is ? 'webhook.enabled' : 'webhook.disabled'
}

/** Null: all types. */
function withoutRepeats(types: readonly WebhookEventType[] | null): readonly WebhookEventType[] | null {
  return types === null ? null : [...new Set(types)]
}

/** Of the address only the host: paths are secret in many places. */
function webhookEvent(action: WebhookAction, asker: Asker, row: WebhookTable): AuditEvent {
  const events = row.events === null ? null : (JSON.parse(row.events) as readonly string[]) // our own JSON
  const details = { host: new URL(row.url).host, events, enabled: row.disabled_at === null }
  return { ...asker.audited, action, subject: row.id, result: 'done', details }
}

export interface WebhookReference {
  readonly accountId: AccountId
  readonly id: WebhookId
}

/** By creation; ids sort by time. */
export async function listWebhooks(
  db: Kysely<Database>,
  accountId: AccountId,
  { limit, order, after }: ListPage<WebhookId>,
): Promise<readonly WebhookTable[]> {
  return db
    .selectFrom('webhook')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(after !== undefined, (query) => query.where('id', order === 'asc' ? '>' : '<', after as WebhookId))
    .orderBy('id', order)
    .limit(limit)
    .execute()
}

/** Undefined when it is unknown or another account's. */
export async function findWebhook(
  db: Kysely<Database>,
  { accountId, id }: WebhookReference,
): Promise<WebhookTable | undefined> {
  const query = db.selectFrom('webhook').selectAll().where('account_id', '=', accountId).where('id', '=', id)
  return query.executeTakeFirst()
}

async function countWebhooks(db: Kysely<Database>, accountId: AccountId): Promise<number> {
  const { count } = await db
    .selectFrom('webhook')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

async function insertWebhook(db: Kysely<Database>, row: WebhookTable): Promise<void> {
  await db.insertInto('webhook').values(row).execute()
}

/** Undefined when it is unknown or another account's. */
async function updateWebhook(
  db: Kysely<Database>,
  { accountId, id }: WebhookReference,
  changes: Partial<Omit<WebhookTable, 'account_id' | 'id' | 'created_at'>>,
): Promise<WebhookTable | undefined> {
  return db
    .updateTable('webhook')
    .set(changes)
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** What it was; undefined when it is unknown or another account's. */
async function deleteWebhook(
  db: Kysely<Database>,
  { accountId, id }: WebhookReference,
): Promise<WebhookTable | undefined> {
  return db
    .deleteFrom('webhook')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** An event that is being written while its endpoint is deleted can still add a delivery. */
const LATE_DELIVERIES_MS = 60_000

const DEPENDANTS: Dependants<WebhookReference> = {
  kind: 'webhooks.clear',
  jobName: ({ id }) => id,
  deleteBatch: deleteDeliveries,
  lateRowsMs: LATE_DELIVERIES_MS,
}

export function deletionJobs({ db }: { readonly db: Kysely<Database> }): Readonly<Record<string, JobKind>> {
  return dependantsJob(db, DEPENDANTS)
}

/** Deletes the first deliveries of an endpoint with their attempts. @returns Their number. */
async function deleteDeliveries(db: Kysely<Database>, { accountId, id }: WebhookReference): Promise<number> {
  const rows = await db
    .deleteFrom('delivery')
    .where('account_id', '=', accountId)
    .where('webhook_id', '=', id)
    .where('id', 'in', (query) =>
      query
        .selectFrom('delivery')
        .select('id')
        .where('account_id', '=', accountId)
        .where('webhook_id', '=', id)
        .orderBy('id')
        .limit(BATCH_ROWS),
    )
    .returning('id')
    .execute()
  if (rows.length === 0) return 0
  const deliveryIds = rows.map((row) => row.id)
  await db
    .deleteFrom('delivery_attempt')
    .where('account_id', '=', accountId)
    .where('delivery_id', 'in', deliveryIds)
    .execute()
  return rows.length
}
