/**
 * Follows the events of an account. Ids sort by when events were born, but what they tell about is committed later, and
 * not in that order: so each look goes some seconds back, and leaves out what was found before.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { type AccountId, type EventId, toBase62 } from '../../domain/ids.ts'
import { type EventRow, listEventIds, readEvents } from './events.ts'

export interface EventReaderInput {
  readonly db: Kysely<Database>
  readonly accountId: AccountId
  /** Unix milliseconds. */
  readonly now: () => number
  /**
   * The last one that the reader has. What was born in the seconds before it is found once more, since a part of it may
   * have been committed later. Undefined: from now on.
   */
  readonly last: EventId | undefined
}

/** The next events, at most `EVENTS_AT_ONCE`, the oldest first; none: there are no others for now. */
export type EventReader = () => Promise<readonly EventRow[]>

export const EVENTS_AT_ONCE = 100
/** Longer than any of our transactions takes, and than clocks of machines differ. */
export const LOOK_BACK_MS = 10_000
/** Where more were born in that time, it is shorter. */
const MAX_REMEMBERED = 10_000

export function createEventReader({ db, accountId, now, last }: EventReaderInput): EventReader {
  let after = last === undefined ? eventIdFloor(now()) : eventIdFloor(bornAt(last) - LOOK_BACK_MS)
  const found = new Set<EventId>(last === undefined ? [] : [last])
  return async () => {
    const settled = eventIdFloor(now() - LOOK_BACK_MS)
    const ids = await listEventIds(db, accountId, { after, limit: found.size + EVENTS_AT_ONCE })
    const fresh = ids.filter((id) => !found.has(id)).slice(0, EVENTS_AT_ONCE)
    const rows = fresh.length === 0 ? [] : await readEvents(db, accountId, fresh)
    for (const id of fresh) found.add(id)
    // Nothing but what is found comes before the newest of these: `ids` are all that there are, in their order.
    for (const id of ids) {
      if (!found.has(id) || (id >= settled && found.size <= MAX_REMEMBERED)) break
      after = id
      found.delete(id)
    }
    return rows
  }
}

/** The form of an id. */
export function isEventId(text: string): text is EventId {
  return /^evt_[0-9A-Za-z]{22}$/.test(text)
}

const PREFIX = 'evt_'
const TIME_LENGTH = 8

/** Before all events that are born from then on. */
function eventIdFloor(ms: number): EventId {
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
