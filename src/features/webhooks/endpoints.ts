/** Webhook endpoints in the database, and their changes: each in one transaction with its audit row. */
import { randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Static } from 'typebox'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { Database, WebhookKind, WebhookTable } from '../../db/schema/schema.ts'
import { pageBy } from '../../db/shared-queries.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, WebhookId } from '../../domain/ids.ts'
import { ALERT_EVENTS, type WebhookEventType, webhookTestData } from '../../domain/webhook-event.ts'
import { mintWebhookSecret } from '../../domain/webhook-signature.ts'
import type { PageRequest } from '../../http/page.ts'
import type { Requester } from '../../http/request-origin.ts'
import { BATCH_ROWS, type Dependants, deleteDependants, dependantsJob } from '../../jobs/batched-deletion.ts'
import type { JobKind } from '../../jobs/job.ts'
import { checkTarget, checkTargetAddresses, type ResolveAddresses } from '../../net/guarded-agent.ts'
import type { ListDeps, RecordEvent, WriteAudit } from '../deps.ts'
import { type MailRules, mayReceiveMail, recipientOf } from './recipients.ts'
import type { WebhookSecrets } from './secrets.ts'
import type { WebhookCreate, WebhookPatch } from './shapes.ts'

export interface WebhooksDeps extends ListDeps {
  readonly writeAudit: WriteAudit
  readonly recordEvent: RecordEvent
  readonly secrets: WebhookSecrets
  /** From the current configuration. */
  readonly allowPrivateNetworks: () => boolean
  /** From the current configuration. Absent: no e-mail. */
  readonly mail?: (() => MailRules) | undefined
  /** Default: the name servers of this machine. */
  readonly resolve?: ResolveAddresses | undefined
}

export interface WithSecret {
  readonly row: WebhookTable
  /** Not stored in clear: shown this once. */
  readonly secret: string
}

const MAX_WEBHOOKS = 20
const SECOND_MS = 1_000

export async function createWebhook(
  deps: WebhooksDeps,
  requester: Requester,
  body: Static<typeof WebhookCreate>,
): Promise<WithSecret> {
  const { db, now, ids, secrets, recordEvent, writeAudit } = deps
  const { accountId } = requester.caller
  const { kind = 'webhook' } = body
  const types = withoutRepeats(body.events === undefined && kind !== 'webhook' ? ALERT_EVENTS : (body.events ?? null))
  const target = await checkedTarget(deps, { accountId, kind, text: body.url })
  const id = ids.webhook()
  const secret = target.secret ?? mintWebhookSecret(randomBytes)
  const row: WebhookTable = {
    account_id: accountId,
    id,
    kind,
    url: target.url,
    events: types === null ? null : JSON.stringify(types),
    description: body.description ?? '',
    secret: secrets.seal(secret, id),
    previous_secret: null,
    previous_until: null,
    failing_since: null,
    disabled_at: null,
    disabled_reason: null,
    ...(await creatorOf(db, requester)),
    created_at: now(),
  }
  await db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, lockNameOf(accountId))
    await assertRoom(inside, accountId)
    await inside.insertInto('webhook').values(row).execute()
    await recordEvent(inside, { accountId, type: 'webhook.test', data: webhookTestData(id), only: id })
    await writeAudit(inside, webhookEvent('webhook.created', requester, row))
  })
  return { row, secret }
}

/** Changes the fields that the body has. */
export async function changeWebhook(
  deps: WebhooksDeps,
  requester: Requester,
  { id, body }: { readonly id: WebhookId; readonly body: Static<typeof WebhookPatch> },
): Promise<WebhookTable> {
  const { db, now, writeAudit } = deps
  const reference = { accountId: requester.caller.accountId, id }
  const { kind } = await requireWebhook(db, reference) // never changes
  const changes = await parseChanges(deps, { ...reference, kind }, body)
  return db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, lockNameOf(reference.accountId))
    const before = await requireWebhook(inside, reference)
    const switched = switchChanges(before, body.status, now())
    const isAdopted = changes.url !== undefined || (body.status === 'enabled' && before.disabled_at !== null)
    const all = { ...changes, ...switched, ...(isAdopted ? await creatorOf(inside, requester) : {}) }
    if (Object.keys(all).length === 0) return before
    const after = await updateWebhook(inside, reference, all)
    await writeAudit(inside, webhookEvent(actionOf(before, after), requester, after))
    return after
  })
}

export async function removeWebhook(deps: WebhooksDeps, requester: Requester, id: WebhookId): Promise<void> {
  const { accountId } = requester.caller
  await deps.db.transaction().execute(async (inside) => {
    const ofId = inside.deleteFrom('webhook').where('account_id', '=', accountId).where('id', '=', id)
    const row = known(await ofId.returningAll().executeTakeFirst())
    await deleteDependants(inside, DEPENDANTS, { ...deps, owner: { accountId, id } })
    await deps.writeAudit(inside, webhookEvent('webhook.deleted', requester, row))
  })
}

/** @param overlap Seconds for which the old secret signs too. */
export async function rotateSecret(
  deps: WebhooksDeps,
  requester: Requester,
  { id, overlap }: { readonly id: WebhookId; readonly overlap: number },
): Promise<WithSecret> {
  const { db, now, secrets, writeAudit } = deps
  const reference = { accountId: requester.caller.accountId, id }
  const secret = mintWebhookSecret(randomBytes)
  const row = await db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, lockNameOf(reference.accountId))
    const before = await requireWebhook(inside, reference)
    if (before.kind !== 'webhook')
      throw new GatewayError('conflict', `An endpoint of the kind ${before.kind} has no signing secret.`)
    const after = await updateWebhook(inside, reference, {
      secret: secrets.seal(secret, id),
      previous_secret: overlap === 0 ? null : before.secret,
      previous_until: overlap === 0 ? null : now() + overlap * SECOND_MS,
    })
    const event = webhookEvent('webhook.secret_rotated', requester, after)
    await writeAudit(inside, { ...event, details: { ...event.details, overlap_seconds: overlap } })
    return after
  })
  return { row, secret }
}

/** Throws 404, the same for another account's endpoint and for one that does not exist. */
function known(row: WebhookTable | undefined): WebhookTable {
  if (row === undefined) throw new GatewayError('not_found', 'No webhook endpoint has this ID.')
  return row
}

/** Throws 404 for an unknown endpoint, and 409 for a disabled one, whose deliveries would fail. */
export async function assertEnabled(db: Kysely<Database>, reference: WebhookReference): Promise<void> {
  if ((await requireWebhook(db, reference)).disabled_at === null) return
  throw new GatewayError('conflict', 'This endpoint is disabled. Enable it first: PATCH it with {"status": "enabled"}.')
}

/**
 * Columns of the endpoint's creator: it receives events as long as that key and user are valid. A caller that changes the
 * address or enables the endpoint becomes its creator, so that no key outlives its expiry this way.
 */
async function creatorOf(
  db: Kysely<Database>,
  { caller: { kind, accountId, keyId, userId } }: Requester,
): Promise<Pick<WebhookTable, 'created_by' | 'key_id' | 'creator_gone_at'>> {
  if (kind !== 'key') return { created_by: userId ?? null, key_id: null, creator_gone_at: null }
  const key = await db
    .selectFrom('api_key')
    .select('created_by')
    .where(({ and }) => and({ account_id: accountId, id: keyId }))
    .executeTakeFirst()
  return { created_by: key?.created_by ?? null, key_id: keyId, creator_gone_at: null }
}

function lockNameOf(accountId: AccountId): string {
  return `webhooks of ${accountId}`
}

async function assertRoom(db: Kysely<Database>, accountId: AccountId): Promise<void> {
  const webhooks = await db.selectFrom('webhook').select('id').where('account_id', '=', accountId).execute()
  if (webhooks.length < MAX_WEBHOOKS) return
  const message = `An account has at most ${MAX_WEBHOOKS} webhook endpoints. Delete one, or send more events to one of them.`
  throw new GatewayError('conflict', message)
}

interface Target {
  /** As it is shown and compared. */
  readonly url: string
  /** What is sealed with it; undefined: a signing secret. */
  readonly secret: string | undefined
}

interface NewTarget {
  readonly accountId: AccountId
  readonly kind: WebhookKind
  readonly text: string
}

/** Normalizes the address. Throws 400 for one that deliveries may not go to. */
async function checkedTarget(deps: WebhooksDeps, { accountId, kind, text }: NewTarget): Promise<Target> {
  if (kind === 'email') return { url: await checkedRecipient(deps, accountId, text), secret: undefined }
  const { allowPrivateNetworks, resolve } = deps
  const rule = { allowPrivateNetworks: allowPrivateNetworks() }
  const url = checkTarget(text, rule)
  await checkTargetAddresses(url, resolve === undefined ? rule : { ...rule, resolve })
  // Whoever knows the address of an incoming webhook of Slack can post to its channel.
  return kind === 'slack' ? { url: `${url.origin}/…`, secret: url.href } : { url: url.href, secret: undefined }
}

async function checkedRecipient({ db, mail }: WebhooksDeps, accountId: AccountId, text: string): Promise<string> {
  const settings = mail?.()
  if (settings?.smtp === undefined)
    throw new GatewayError('invalid_value', 'E-mail is not configured: the operator sets alerts.smtp.', {
      param: 'kind',
    })
  const address = recipientOf(text)
  if (address === undefined)
    throw new GatewayError('invalid_value', "'url' must be mailto: and one address, such as mailto:ops@example.com.", {
      param: 'url',
    })
  if (!(await mayReceiveMail(db, { accountId, address, domains: settings.recipientDomains })))
    throw new GatewayError(
      'invalid_value',
      'E-mail goes to members of the account, and to the domains in the setting alerts.recipient_domains.',
      { param: 'url' },
    )
  return `mailto:${address}`
}

/** A changed address resets the failure state. */
async function parseChanges(
  deps: WebhooksDeps,
  { accountId, id, kind }: WebhookReference & { readonly kind: WebhookKind },
  { url, events, description }: Static<typeof WebhookPatch>,
) {
  const types = events === undefined ? undefined : withoutRepeats(events)
  const target = url === undefined ? undefined : await checkedTarget(deps, { accountId, kind, text: url })
  return {
    ...(description === undefined ? {} : { description }),
    ...(types === undefined ? {} : { events: types === null ? null : JSON.stringify(types) }),
    ...(target === undefined ? {} : { url: target.url, failing_since: null }),
    ...(target?.secret === undefined ? {} : { secret: deps.secrets.seal(target.secret, id) }),
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

/** Records only the host of the address: its path often contains a secret. */
function webhookEvent(action: WebhookAction, requester: Requester, row: WebhookTable): AuditEvent {
  const events = row.events === null ? null : (JSON.parse(row.events) as readonly string[]) // our own JSON
  const to = row.kind === 'email' ? { email: recipientOf(row.url) ?? '' } : { host: new URL(row.url).host }
  const details = { kind: row.kind, ...to, events, enabled: row.disabled_at === null }
  return { ...requester.audited, action, subject: row.id, result: 'done', details }
}

export interface WebhookReference {
  readonly accountId: AccountId
  readonly id: WebhookId
}

/** By creation; IDs sort by time. */
export async function listWebhooks(
  db: Kysely<Database>,
  accountId: AccountId,
  page: PageRequest<WebhookId>,
): Promise<readonly WebhookTable[]> {
  return db.selectFrom('webhook').selectAll().where('account_id', '=', accountId).$call(pageBy('id', page)).execute()
}

/** Throws 404 when it is unknown or another account's. */
export async function requireWebhook(db: Kysely<Database>, { accountId, id }: WebhookReference): Promise<WebhookTable> {
  const query = db.selectFrom('webhook').selectAll().where('account_id', '=', accountId).where('id', '=', id)
  return known(await query.executeTakeFirst())
}

async function updateWebhook(
  db: Kysely<Database>,
  { accountId, id }: WebhookReference,
  changes: Partial<Omit<WebhookTable, 'account_id' | 'id' | 'created_at'>>,
): Promise<WebhookTable> {
  const ofId = db.updateTable('webhook').set(changes).where('account_id', '=', accountId).where('id', '=', id)
  return known(await ofId.returningAll().executeTakeFirst())
}

/** An event that is recorded while its endpoint is deleted can still add a delivery. */
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
  const first = db
    .selectFrom('delivery')
    .select('id')
    .where(({ and }) => and({ account_id: accountId, webhook_id: id }))
    .orderBy('id')
    .limit(BATCH_ROWS)
  const rows = await db
    .deleteFrom('delivery')
    .where(({ and }) => and({ account_id: accountId, webhook_id: id }))
    .where('id', 'in', first)
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
