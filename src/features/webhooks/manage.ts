/** What an account does with its endpoints: each change with its row of the audit log, in one transaction. */
import { randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Static } from 'typebox'
import type { Database, WebhookTable } from '../../db/schema.ts'
import { takeTurn } from '../../db/turn.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import type { Caller } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, WebhookId } from '../../domain/ids.ts'
import { webhookTestData } from '../../domain/webhook-example.ts'
import { mintWebhookSecret } from '../../domain/webhook-signature.ts'
import type { AuditedRequest } from '../../http/audit-origin.ts'
import { checkTarget, checkTargetAddresses, type ResolveAddresses } from '../../http/guarded-agent.ts'
import type { FeatureDeps, RecordEvent, WriteAudit } from '../deps.ts'
import { clearDeliveries } from './clear.ts'
import {
  countWebhooks,
  deleteWebhook,
  findWebhook,
  insertWebhook,
  updateWebhook,
  type WebhookReference,
} from './queries.ts'
import type { WebhookSecrets } from './secrets.ts'
import { parseTypes, type WebhookCreate, type WebhookPatch } from './shapes.ts'

export interface WebhooksDeps extends FeatureDeps {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
  readonly writeAudit: WriteAudit
  readonly recordEvent: RecordEvent
  readonly secrets: WebhookSecrets
  /** What is configured now. */
  readonly allowPrivateNetworks: () => boolean
  /** Who knows the addresses of a name; the usual ones unless said. */
  readonly resolve?: ResolveAddresses | undefined
}

/** Who asks for a change, and from where. */
export interface Asker {
  readonly caller: Caller
  readonly audited: AuditedRequest
}

export interface WithSecret {
  readonly row: WebhookTable
  /** Nowhere else to be had. */
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
  const types = parseTypes(body.events ?? null)
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
    created_at: now(),
  }
  await db.transaction().execute(async (inside) => {
    await takeTurn(inside, turnOf(accountId))
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
    await takeTurn(inside, turnOf(reference.accountId))
    const before = await findWebhook(inside, reference)
    if (before === undefined) return undefined
    const all = { ...changes, ...switchChanges(before, body.status, now()) }
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
    await clearDeliveries(inside, reference, deps)
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
    await takeTurn(inside, turnOf(reference.accountId))
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

function turnOf(accountId: AccountId): string {
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
  const types = events === undefined ? undefined : parseTypes(events)
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

/** Of the address only the host: paths are secret in many places. */
function webhookEvent(action: WebhookAction, asker: Asker, row: WebhookTable): AuditEvent {
  const events = row.events === null ? null : (JSON.parse(row.events) as readonly string[]) // our own JSON
  const details = { host: new URL(row.url).host, events, enabled: row.disabled_at === null }
  return { ...asker.audited, action, subject: row.id, result: 'done', details }
}
