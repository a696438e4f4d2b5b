/** What there is to be told about, in words. */
import { plural } from '../../lib/format.ts'
import type { EventType } from './queries.ts'

const MEANINGS: Readonly<Record<EventType, string>> = {
  'agent.started': 'An agent begins to work, also after a follow-up.',
  'agent.completed': 'An agent has done its work.',
  'agent.failed': 'An agent ended with an error, or at one of its limits.',
  'agent.cancelled': 'Somebody stopped an agent.',
  'usage.alert': 'The month’s spending has reached one of the account’s alert thresholds.',
  'credit.exhausted': 'No credit is left: completions are refused until there is more.',
  'ledger.audit': 'The weekly audit of the ledger found something. Only for the first account.',
  'webhook.test': 'A test. Tests of this endpoint itself are sent whether this is chosen or not.',
}

export const EVENT_TYPES = Object.entries(MEANINGS).map(([value, description]) => ({
  value,
  label: value,
  description,
}))

/** `All events`, `agent.failed`, `agent.failed and 2 more`. @param types null: all. */
export function eventsInWords(types: readonly string[] | null): string {
  if (types === null) return 'All events'
  const [first = 'None', ...others] = types
  return others.length === 0 ? first : `${first} and ${plural(others.length, 'more', 'more')}`
}
