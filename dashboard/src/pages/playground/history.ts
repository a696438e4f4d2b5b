/** The last runs, kept in this browser for the person who made them. Never answers, never images. */
import { useSyncExternalStore } from 'react'
import { createStore } from '../../lib/browser-store.ts'
import type { Speaker } from './conversation.ts'
import { type Fields, fieldsOf, listOf, numberOf, textOf } from './json-text.ts'
import { DEFAULT_SETTINGS, EFFORTS, FORMATS, type Settings, TOOL_CHOICES } from './settings.ts'
import { type Draft, messagesOf } from './use-draft.ts'

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

const store = createStore<readonly HistoryEntry[]>({
  name: 'playground',
  keyOf: (userId) => `turnpike-playground-${userId}`,
  parse: parseHistory,
  render: (entries) => (entries.length === 0 ? null : JSON.stringify(entries)),
})

/** The newest first. Entries of another version, or edited by hand, are left out. Throws for text that is not JSON. */
export function parseHistory(text: string | null): readonly HistoryEntry[] {
  const entries = listOf(JSON.parse(text ?? '[]')).map((entry) => readEntry(fieldsOf(entry)))
  return entries.filter((entry) => entry !== undefined).slice(0, MAX_ENTRIES)
}

/** The newest entries within both limits. */
export function withinLimits(entries: readonly HistoryEntry[]): readonly HistoryEntry[] {
  let length = 0
  const end = entries.slice(0, MAX_ENTRIES).findIndex((entry) => {
    length += JSON.stringify(entry).length
    return length > MAX_HISTORY_LENGTH
  })
  return entries.slice(0, end === -1 ? MAX_ENTRIES : end)
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
    team: textOf(raw['team']) ?? '',
    tools: textOf(raw['tools']) ?? '',
    toolChoice: TOOL_CHOICES.find((choice) => choice === raw['toolChoice']) ?? DEFAULT_SETTINGS.toolChoice,
    format: FORMATS.find((format) => format === raw['format']) ?? DEFAULT_SETTINGS.format,
    schema: textOf(raw['schema']) ?? DEFAULT_SETTINGS.schema,
    isStrict: raw['isStrict'] !== false,
    temperature: numberOf(raw['temperature']),
    topP: numberOf(raw['topP']),
    maxTokens: numberOf(raw['maxTokens']),
    seed: numberOf(raw['seed']),
    stop: textOf(raw['stop']) ?? '',
    effort: EFFORTS.find((effort) => effort === raw['effort']) ?? DEFAULT_SETTINGS.effort,
  }
}

export interface RunHistory {
  /** The newest first. */
  readonly entries: readonly HistoryEntry[]
  readonly add: (run: { readonly models: readonly string[]; readonly draft: Draft }) => void
  /** @returns What brings it back. */
  readonly clear: () => () => void
}

/** The last runs of a person in this browser. */
export function useHistory(userId: string): RunHistory {
  const entries = useSyncExternalStore(store.subscribe, () => store.read(userId))
  const save = (next: readonly HistoryEntry[]) => store.write(withinLimits(next), userId)
  return {
    entries,
    add({ models, draft }) {
      const messages = messagesOf(draft).map(({ role, text }) => ({ role, text }))
      const { system, settings } = draft
      save([{ at: new Date().toISOString(), models, system, messages, settings }, ...store.read(userId)])
    },
    clear() {
      save([])
      return () => save(entries)
    },
  }
}
