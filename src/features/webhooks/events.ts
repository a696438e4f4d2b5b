/** Events in the database: by account, by agent, and the deliveries of each. */
import { type Kysely, sql } from 'kysely'
import { dialectOf, readRows } from '../../db/dialect.ts'
import type { Database, DeliveryStatus, EventTable } from '../../db/schema/schema.ts'
import {
  type AccountId,
  type AgentId,
  type DeliveryId,
  type EventId,
  toBase62,
  type WebhookId,
} from '../../domain/ids.ts'
import { renderWebhookBody, type WebhookEvent, type WebhookEventType } from '../../domain/webhook-event.ts'
import { listRows, textAt } from '../../jobs/sql.ts'

export interface ListPage<Id extends string> {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** The last one of the page before. */
  readonly after: Id | undefined
}

export type EventRow = Omit<EventTable, 'account_id'>

const COLUMNS = ['id', 'type', 'data', 'created_at'] as const

/** By birth; ids sort by time. */
export async function listEvents(
  db: Kysely<Database>,
  { accountId, type }: { readonly accountId: AccountId; readonly type: WebhookEventType | undefined },
  { limit, order, after }: ListPage<EventId>,
): Promise<readonly EventRow[]> {
  return db
    .selectFrom('event')
    .select(COLUMNS)
    .where('account_id', '=', accountId)
    .$if(type !== undefined, (query) => query.where('type', '=', type as WebhookEventType))
    .$if(after !== undefined, (query) => query.where('id', order === 'asc' ? '>' : '<', after as EventId))
    .orderBy('id', order)
    .limit(limit)
    .execute()
}

/** The ids alone, of events after one of them, the oldest first. */
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

/** Undefined when it is unknown or another account's. */
export async function findEvent(
  db: Kysely<Database>,
  { accountId, id }: { readonly accountId: AccountId; readonly id: EventId },
): Promise<EventRow | undefined> {
  const query = db.selectFrom('event').select(COLUMNS).where('account_id', '=', accountId).where('id', '=', id)
  return query.executeTakeFirst()
}

/** As receivers are told of it. */
export function webhookEventOf({ id, type, data, created_at: createdAt }: EventRow): WebhookEvent {
  const event = { event_id: id, type, created_at: new Date(createdAt).toISOString(), data: JSON.parse(data) }
  return event as WebhookEvent // what was recorded is of its type
}

/** The body of every delivery of an event, to the byte. */
export function webhookBodyOf(event: EventRow): string {
  return renderWebhookBody(webhookEventOf(event))
}

/** The newest of an agent, so that the times that are looked up stay few. */
export const MAX_RUNS = 1_000

interface AgentEventFilter {
  readonly accountId: AccountId
  /** As it was asked for: it may be nobody's, or another account's, and then there are no events. */
  readonly agentId: AgentId
  readonly type: WebhookEventType | undefined
}

/** By birth; ids sort by time. Of an agent that was deleted there are none: its runs are gone. */
export async function listEventsOfAgent(
  db: Kysely<Database>,
  filter: AgentEventFilter,
  { limit, order, after }: ListPage<EventId>,
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

/** Also those of others that happened in the same millisecond. */
async function idsAtTimesOfRuns(
  db: Kysely<Database>,
  { accountId, agentId, type }: AgentEventFilter,
): Promise<readonly EventId[]> {
  const runs = await db
    .selectFrom('run')
    .select(['started_at', 'ended_at'])
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .orderBy('number', 'desc')
    .limit(MAX_RUNS)
    .execute()
  const times = runs.flatMap(({ started_at: start, ended_at: end }) => [start, end]).filter((time) => time !== null)
  if (times.length === 0) return []
  const rows = await db
    .selectFrom('event')
    .select('id')
    .where('created_at', 'in', times)
    .where(sql`account_id || ''`, '=', accountId) // (else PostgreSQL may go through all events of the account)
    .$if(type !== undefined, (query) => query.where('type', '=', type as WebhookEventType))
    .execute()
  return rows.map(({ id }) => id)
}

function agentIdOf({ data }: EventRow): unknown {
  return (JSON.parse(data) as { readonly agent?: { readonly id?: unknown } }).agent?.id // our own JSON
}

/** Between the ids of an event and of its deliveries, which are drawn in one transaction; before it where a clock was set back. */
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
 * Two queries, however many events. Endpoints that were deleted have no deliveries any more.
 * @returns By event, those of the endpoint made first first.
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

/** The same text however many there are. By the primary key: `offset 0` keeps PostgreSQL from another way. */
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

/** Before all events that are born from then on. */
export function eventIdFloor(ms: number): EventId {
  return `${PREFIX}${toBase62(Math.max(0, ms), TIME_LENGTH)}` as EventId // born of no event, to compare with
}

/** Unix milliseconds. */
export function bornAt(id: EventId): number {
  let ms = 0
  for (const character of id.slice(PREFIX.length, PREFIX.length + TIME_LENGTH)) ms = ms * 62 + digitOf(character)
  return ms
}

/** As base 62 is written here: digits, capitals, small letters. */
function digitOf(character: string): number {
  if (character <= '9') return Number(character)
  const isCapital = character <= 'Z'
  return character.charCodeAt(0) - (isCapital ? 'A' : 'a').charCodeAt(0) + (isCapital ? 10 : 36)
}

/** What ids of deliveries that were made at a time, or later, do not sort before: their key is read, and nothing else. */
export function deliveryIdFloor(ms: number): string {
  return `dlv_${toBase62(Math.max(0, ms), 8)}`
}
