import { type Dispatch, type SetStateAction, useEffect, useState } from 'react'
import type { Image, MessageItem, Speaker } from './conversation.ts'
import { DEFAULT_SETTINGS, type Settings } from './settings.ts'

/** What is about to be said, to all columns. */
export interface Draft {
  readonly system: string
  /** The last one is what is being typed; those before it are said with it. */
  readonly messages: readonly DraftMessage[]
  /** Of the last message. */
  readonly images: readonly Image[]
  readonly settings: Settings
}

export interface DraftMessage {
  readonly id: number
  readonly role: Speaker
  readonly text: string
}

export type SetDraft = Dispatch<SetStateAction<Draft>>

let lastId = 0

/** Unique on the page. */
export function nextId(): number {
  lastId += 1
  return lastId
}

export function draftMessage(text = '', role: Speaker = 'user'): DraftMessage {
  return { id: nextId(), role, text }
}

/** Filled from the address, also when a link leads to another while the view is open. */
export function useDraft({ system, prompt }: { readonly system?: string; readonly prompt?: string }) {
  const [draft, setDraft] = useState<Draft>(() => ({
    system: system ?? '',
    messages: [draftMessage(prompt)],
    images: [],
    settings: DEFAULT_SETTINGS,
  }))
  useEffect(() => {
    if (system !== undefined) setDraft((now) => ({ ...now, system }))
  }, [system])
  useEffect(() => {
    if (prompt !== undefined) setDraft((now) => withPrompt(now, prompt))
  }, [prompt])
  return [draft, setDraft] as const
}

export function withPrompt(draft: Draft, text: string): Draft {
  const last = draft.messages.at(-1)
  return { ...draft, messages: [...draft.messages.slice(0, -1), { ...(last ?? draftMessage()), text }] }
}

interface SavedRun extends Pick<Draft, 'system' | 'settings'> {
  readonly messages: readonly Pick<DraftMessage, 'role' | 'text'>[]
}

/** A draft from a run of the history. */
export function draftOf({ system, messages, settings }: SavedRun): Draft {
  const drafts = messages.map(({ role, text }) => draftMessage(text, role))
  return { system, settings, images: [], messages: drafts.length === 0 ? [draftMessage()] : drafts }
}

/** What is said, without messages that are empty. */
export function messagesOf({ messages, images }: Draft): readonly MessageItem[] {
  const items = messages.map(({ role, text }, index): MessageItem => {
    const isLast = index === messages.length - 1
    return { kind: 'message', id: nextId(), role, text, images: isLast ? images : [] }
  })
  return items.filter(({ text, images: attached }) => text.trim() !== '' || attached.length > 0)
}
