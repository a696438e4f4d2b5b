/** The last runs, kept in this browser for the person who made them. Never answers, never images. */
import type { Speaker } from './conversation.ts'
import { EFFORTS, FORMATS, NOTHING_SET, type Settings, TOOL_CHOICES } from './settings.ts'
import { type Fields, fieldsOf, listOf, numberOf, textOf } from './unknown-fields.ts'

export interface HistoryEntry {
  /** ISO 8601; also its id. */
  readonly at: string
  readonly models: readonly string[]
  readonly system: string
  readonly messages: readonly { readonly role: Speaker; readonly text: string }[]
  readonly settings: Settings
}

export const MAX_ENTRIES = 20
/** Of all of them, as JSON. */
export const MAX_HISTORY_LENGTH = 256 * 1024

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

export function historyKey(userId: string): string {
  return `turnpike-playground-${userId}`
}

/** The newest first. What is not as it was written, by another version or by hand, is left out. */
export function readHistory(store: Store, key: string): readonly HistoryEntry[] {
  try {
    const entries = listOf(JSON.parse(store.getItem(key) ?? '[]')).map((entry) => readEntry(fieldsOf(entry)))
    return entries.filter((entry) => entry !== undefined).slice(0, MAX_ENTRIES)
  } catch {
    return []
  }
}

/** @returns What is kept: the oldest, and what is too long, is not. A browser that keeps nothing is none to fail for. */
export function keepHistory(store: Store, key: string, entries: readonly HistoryEntry[]): readonly HistoryEntry[] {
  const kept: HistoryEntry[] = []
  let length = 0
  for (const entry of entries.slice(0, MAX_ENTRIES)) {
    length += JSON.stringify(entry).length
    if (length > MAX_HISTORY_LENGTH) break
    kept.push(entry)
  }
  try {
    if (kept.length === 0) store.removeItem(key)
    else store.setItem(key, JSON.stringify(kept))
  } catch {
    return kept
  }
  return kept
}

function readEntry(entry: Fields): HistoryEntry | undefined {
  const at = textOf(entry['at'])
  if (at === undefined || Number.isNaN(Date.parse(at))) return undefined
  const messages = listOf(entry['messages']).map((message) => readMessage(fieldsOf(message)))
  return {
    at,
    models: listOf(entry['models']).filter((model) => typeof model === 'string'),
    system: textOf(entry['system']) ?? '',
    messages,
    settings: readSettings(fieldsOf(entry['settings'])),
  }
}

function readMessage(message: Fields): HistoryEntry['messages'][number] {
  return { role: message['role'] === 'assistant' ? 'assistant' : 'user', text: textOf(message['text']) ?? '' }
}

function readSettings(raw: Fields): Settings {
  return {
    tools: textOf(raw['tools']) ?? '',
    toolChoice: TOOL_CHOICES.find((choice) => choice === raw['toolChoice']) ?? NOTHING_SET.toolChoice,
    format: FORMATS.find((format) => format === raw['format']) ?? NOTHING_SET.format,
    schema: textOf(raw['schema']) ?? NOTHING_SET.schema,
    isStrict: raw['isStrict'] !== false,
    temperature: numberOf(raw['temperature']),
    topP: numberOf(raw['topP']),
    maxTokens: numberOf(raw['maxTokens']),
    seed: numberOf(raw['seed']),
    stop: textOf(raw['stop']) ?? '',
    effort: EFFORTS.find((effort) => effort === raw['effort']) ?? NOTHING_SET.effort,
  }
}
