/** Events in the database: by account, by agent, and the deliveries of each. */
import { type Kysely, sql } from 'kysely'
import { dialectOf, readRows } from '../../db/database.ts'
import { expiryOf } from '../../db/lineage.ts'
import type { Database, DeliveryStatus, EventTable } from '../../db/schema/schema.ts'
import { given, pageBy } from '../../db/shared-queries.ts'
import {
  type AccountId,
  type AgentId,
  type DeliveryId,
  type EventId,
  type IdSource,
  type KeyId,
  toBase62,
  type WebhookId,
} from '../../domain/ids.ts'
import { renderWebhookBody, type WebhookEvent, type WebhookEventType } from '../../domain/webhook-event.ts'
import type { PageRequest } from '../../http/page.ts'
import { enqueueAll, type NewJob } from '../../jobs/queue.ts'
import { listRows, textAt } from '../../jobs/sql.ts'
import type { NewEvent, RecordEvent } from '../deps.ts'

export type EventRow = Omit<EventTable, 'account_id'>

const COLUMNS = ['id', 'type', 'data', 'created_at'] as const

/** By creation; IDs sort by time. */
export async function listEvents(
  db: Kysely<Database>,
  { accountId, type }: { readonly accountId: AccountId; readonly type: WebhookEventType | undefined },
  page: PageRequest<EventId>,
): Promise<readonly EventRow[]> {
  return db
    .selectFrom('event')
    .select(COLUMNS)
    .where('account_id', '=', accountId)
    .where(({ and }) => and(given({ type })))
    .$call(pageBy('id', page))
    .execute()
}

/** IDs of the events after one of them, the oldest first. */
export async function listEventIds(
  db: Kysely<Database>,
  accountId: AccountId,
  { after, limit }: { readonly after: EventId; readonly limit: number },
): Promise<readonly EventId[]> {
  const rows = await db
    .selectFrom('event')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** The oldest first. */
export async function readEvents(
  db: Kysely<Database>,
  accountId: AccountId,
  ids: readonly EventId[],
): Promise<readonly EventRow[]> {
  const query = db.selectFrom('event').select(COLUMNS).where('account_id', '=', accountId).where('id', 'in', ids)
  return query.orderBy('id').execute()
}

/** Of an event that exists. */
export async function requireEvent(
  db: Kysely<Database>,
  { accountId, id }: { readonly accountId: AccountId; readonly id: EventId },
): Promise<EventRow> {
  const query = db.selectFrom('event').select(COLUMNS).where('account_id', '=', accountId).where('id', '=', id)
  return query.executeTakeFirstOrThrow()
}

/** The event in the shape that receivers get. */
export function webhookEventOf({ id, type, data, created_at: createdAt }: EventRow): WebhookEvent {
  const event = { event_id: id, type, created_at: new Date(createdAt).toISOString(), data: JSON.parse(data) }
  return event as WebhookEvent // as it was recorded
}

/** The body of every delivery of an event: the same bytes at each attempt. */
export function webhookBodyOf(event: EventRow): string {
  return renderWebhookBody(webhookEventOf(event))
}

/** Runs of an agent whose events are found, the newest first: bounds the number of times in the query. */
export const MAX_RUNS = 1_000

interface AgentEventFilter {
  readonly accountId: AccountId
  /** From the request, not checked: another account's agent has no events here. */
  readonly agentId: AgentId
  readonly type: WebhookEventType | undefined
}

/** By creation; IDs sort by time. Empty for a deleted agent, whose runs were deleted too. */
export async function listEventsOfAgent(
  db: Kysely<Database>,
  filter: AgentEventFilter,
  { limit, order, after }: PageRequest<EventId>,
): Promise<readonly EventRow[]> {
  const sorted = [...(await idsAtTimesOfRuns(db, filter))].sort()
  const ids = order === 'asc' ? sorted : sorted.toReversed()
  const rest = after === undefined ? ids : ids.filter((id) => (order === 'asc' ? id > after : id < after))
  const found: EventRow[] = []
  for (let at = 0; at < rest.length && found.length < limit; at += limit) {
    const rows = await readEvents(db, filter.accountId, rest.slice(at, at + limit))
    found.push(...(order === 'asc' ? rows : rows.toReversed()).filter((row) => agentIdOf(row) === filter.agentId))
  }
  return found.slice(0, limit)
}

/** Includes other events of the same milliseconds. */
async function idsAtTimesOfRuns(
  db: Kysely<Database>,
  { accountId, agentId, type }: AgentEventFilter,
): Promise<readonly EventId[]> {
  const runs = await db
    .selectFrom('run')
    .select(['started_at', 'ended_at'])
    .where(({ and }) => and({ account_id: accountId, agent_id: agentId }))
    .orderBy('number', 'desc')
    .limit(MAX_RUNS)
    .execute()
  const times = runs.flatMap(({ started_at: start, ended_at: end }) => [start, end]).filter((time) => time !== null)
  if (times.length === 0) return []
  const rows = await db
    .selectFrom('event')
    .select('id')
    .where('created_at', 'in', times)
    .where(sql`account_id || ''`, '=', accountId) // else PostgreSQL may read all events of the account
    .where(({ and }) => and(given({ type })))
    .execute()
  return rows.map(({ id }) => id)
}

function agentIdOf({ data }: EventRow): unknown {
  return (JSON.parse(data) as { readonly agent?: { readonly id?: unknown } }).agent?.id // our own JSON
}

/** Time between the IDs of an event and of its deliveries, made in one transaction; negative when the clock was set back. */
const BEFORE_MS = 1_000
const AFTER_MS = 10_000

export interface EventDelivery {
  readonly event_id: EventId
  readonly webhook_id: WebhookId
  /** As it is now. */
  readonly webhook_url: string
  readonly id: DeliveryId
  readonly status: DeliveryStatus
  readonly next_attempt_at: number | null
}

type FoundDelivery = Omit<EventDelivery, 'webhook_url'>

/**
 * Takes two queries for any number of events. Deleted endpoints have no deliveries.
 * @returns The deliveries of an event, by creation of their endpoints.
 */
export async function deliveriesOfEvents(
  db: Kysely<Database>,
  accountId: AccountId,
  events: readonly EventId[],
): Promise<(id: EventId) => readonly EventDelivery[]> {
  const webhooks = await db.selectFrom('webhook').select(['id', 'url']).where('account_id', '=', accountId).execute()
  if (webhooks.length === 0 || events.length === 0) return () => []
  const rows = await readRows(db, findDeliveries(db, accountId, { events, webhookIds: webhooks.map(({ id }) => id) }))
  const urls = new Map(webhooks.map(({ id, url }) => [id, url]))
  const deliveries = rows.map((row) => ({ ...row, webhook_url: urls.get(row.webhook_id) ?? '' }))
  const byEvent = Map.groupBy(deliveries, ({ event_id: id }) => id)
  return (id) => byEvent.get(id) ?? []
}

interface Wanted {
  readonly events: readonly EventId[]
  readonly webhookIds: readonly WebhookId[]
}

/** One SQL text for any number of rows. `offset 0` makes PostgreSQL use the primary key. */
function findDeliveries(db: Kysely<Database>, accountId: AccountId, { events, webhookIds }: Wanted) {
  const bounds = events.map((id) => {
    const born = bornAt(id)
    return [id, deliveryIdFloor(born - BEFORE_MS), deliveryIdFloor(born + AFTER_MS)]
  })
  const endpoints = webhookIds.map((id) => [id])
  const lists = sql`with wanted_event (the_event, first_id, end_id) as
    (select ${textAt(0)}, ${textAt(1)}, ${textAt(2)} from ${listRows(db, bounds)}),
    wanted_webhook (the_webhook) as (select ${textAt(0)} from ${listRows(db, endpoints)})`
  const columns = sql`event_id, webhook_id, id, status, next_attempt_at`
  const isWanted = sql`account_id = ${accountId} and webhook_id = the_webhook and event_id = the_event
    and id >= first_id and id < end_id`
  const found =
    dialectOf(db) === 'postgres'
      ? sql`cross join lateral (select ${columns} from delivery where ${isWanted} offset 0) as found`
      : sql`cross join delivery where ${isWanted}`
  return sql<FoundDelivery>`${lists} select ${columns} from wanted_event cross join wanted_webhook ${found}
    order by webhook_id, id`
}

const PREFIX = 'evt_'
const TIME_LENGTH = 8

/** Sorts before all events that are created from that time on. */
export function eventIdFloor(ms: number): EventId {
  return `${PREFIX}${toBase62(Math.max(0, ms), TIME_LENGTH)}` as EventId // for comparisons only
}

/** Creation time in an ID, Unix milliseconds. */
export function bornAt(id: EventId): number {
  let ms = 0
  for (const character of id.slice(PREFIX.length, PREFIX.length + TIME_LENGTH)) ms = ms * 62 + digitOf(character)
  return ms
}

/** The alphabet of `toBase62`: digits, capitals, small letters. */
function digitOf(character: string): number {
  if (character <= '9') return Number(character)
  const isCapital = character <= 'Z'
  return character.charCodeAt(0) - (isCapital ? 'A' : 'a').charCodeAt(0) + (isCapital ? 10 : 36)
}

/** Sorts before all deliveries that are created from that time on. */
export function deliveryIdFloor(ms: number): string {
  return `dlv_${toBase62(Math.max(0, ms), TIME_LENGTH)}`
}

/*
 * How events come into the database: with a delivery, and the job that carries it out, for each endpoint that asks for
 * them.
 */

export const DELIVER = 'webhooks.deliver'

/** What a job of the kind `DELIVER` carries. */
export interface DeliveryJob {
  readonly accountId: AccountId
  readonly webhookId: WebhookId
  readonly deliveryId: DeliveryId
}

/** @param now Unix milliseconds. */
export function eventRecorder({
  now,
  ids,
}: {
  readonly now: () => number
  readonly ids: Pick<IdSource, 'event' | 'delivery' | 'job'>
}): RecordEvent {
  return async (db, event) => {
    const { accountId, type, data, createdAt = now() } = event
    const id = ids.event()
    await db
      .insertInto('event')
      .values({ account_id: accountId, id, type, data: JSON.stringify(data), created_at: createdAt })
      .execute()
    const webhookIds = await receiversOf(db, event, now())
    if (webhookIds.length === 0) return id
    const time = now()
    const deliveries = webhookIds.map((webhookId) => ({
      account_id: accountId,
      webhook_id: webhookId,
      id: ids.delivery(),
      event_id: id,
      status: 'pending' as const,
      round: 1,
      attempts: 0,
      next_attempt_at: time,
      created_at: time,
    }))
    await db.insertInto('delivery').values(deliveries).execute()
    const jobs = deliveries.map((row) => deliveryJob({ accountId, webhookId: row.webhook_id, deliveryId: row.id }, 1))
    await enqueueAll(db, jobs, ids)
    return id
  }
}

/** The job of one round of a delivery. Endpoints take turns: each has a lane. */
export function deliveryJob(payload: DeliveryJob, round: number): NewJob {
  return { kind: DELIVER, name: `${payload.deliveryId}.${round}`, payload, lane: payload.webhookId }
}

/** What a key created receives nothing after the key has expired. */
async function receiversOf(
  db: Kysely<Database>,
  { accountId, type, only }: NewEvent,
  now: number,
): Promise<readonly WebhookId[]> {
  if (only !== undefined) return [only]
  const rows = await db
    .selectFrom('webhook')
    .select(['id', 'events', 'key_id'])
    .where(({ and }) => and({ account_id: accountId, disabled_at: null }))
    .execute()
  const asking = rows.filter(({ events }) => asksFor(events, type))
  const keyIds = [...new Set(asking.flatMap(({ key_id }) => key_id ?? []))]
  const expired = new Set<KeyId>()
  for (const keyId of keyIds) if ((await expiryOf(db, { accountId, keyId })) <= now) expired.add(keyId)
  return asking.filter(({ key_id }) => key_id === null || !expired.has(key_id)).map(({ id }) => id)
}

function asksFor(events: string | null, type: WebhookEventType): boolean {
  return events === null || (JSON.parse(events) as readonly string[]).includes(type) // our own JSON
}
