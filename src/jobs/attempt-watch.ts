/** Observes the attempts of all completions of this process, for work in the background. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type AttemptNote, COMPLETION_CHANNEL, type CompletionSignal } from '../domain/completion.ts'
import type { AccountId } from '../domain/ids.ts'

export interface AttemptWatch {
  /** Ends the watch; resolves when all work has ended. */
  close(): Promise<void>
}

/** @param observe Called for each attempt. Its promise, if any, must not reject. */
export function watchAttempts(
  observe: (note: AttemptNote, accountId: AccountId) => Promise<void> | undefined,
): AttemptWatch {
  const running = new Set<Promise<void>>()
  const onCompletion = (message: unknown): void => {
    const { record } = message as CompletionSignal
    if (record.attemptLog === undefined) return
    for (const note of record.attemptLog) {
      const work = observe(note, record.accountId)
      if (work === undefined) continue
      const tracked: Promise<void> = work.finally(() => running.delete(tracked))
      running.add(tracked)
    }
  }
  subscribe(COMPLETION_CHANNEL, onCompletion)
  return {
    async close() {
      unsubscribe(COMPLETION_CHANNEL, onCompletion)
      await Promise.all(running)
    },
  }
}
