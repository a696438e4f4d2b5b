/**
 * Counts the completions of this process in memory and writes the counts to the database every few seconds. The memory that
 * they take depends on how many rows they are for, not on how many completions there were. Counts that cannot be written
 * are dropped.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  type AttemptNote,
  COMPLETION_CHANNEL,
  type CompletionRecord,
  type CompletionSignal,
} from '../domain/completion.ts'
import type { AccountId } from '../domain/ids.ts'
import type { TraceContext } from '../lib/trace-context.ts'

interface CountsInput<Row> {
  readonly writeAfterMs: number
  /** Adds a completion to the rows that wait, each of which has a name. */
  readonly count: (waiting: Map<string, Row>, record: CompletionRecord) => void
  /** Adds rows to the database. Rows of a later call wait until it ends. */
  readonly add: (rows: ReadonlyMap<string, Row>) => Promise<void>
  /** Called when rows were dropped. */
  readonly onFailure: (error: unknown, rows: number) => void
}

export interface CompletionCounts {
  /** Adds the counts to the database. Never rejects. */
  write(): Promise<void>
  /** Writes the rest and ends. */
  close(): Promise<void>
}

/** Observes the completions that the gateway publishes. */
export function countCompletions<Row>({ writeAfterMs, count, add, onFailure }: CountsInput<Row>): CompletionCounts {
  let waiting = new Map<string, Row>()
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()

  function onCompletion(message: unknown): void {
    count(waiting, (message as CompletionSignal).record)
    if (waiting.size > 0) timer ??= setTimeout(() => void write(), writeAfterMs).unref()
  }

  async function writeWaiting(): Promise<void> {
    const rows = waiting
    if (rows.size === 0) return
    waiting = new Map()
    try {
      await add(rows)
    } catch (error) {
      onFailure(error, rows.size)
    }
  }

  function write(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(writeWaiting)
    return writing
  }

  subscribe(COMPLETION_CHANNEL, onCompletion)
  return {
    write,
    close() {
      unsubscribe(COMPLETION_CHANNEL, onCompletion)
      return write()
    },
  }
}

/* Observes the attempts of all completions of this process, for work in the background. */

export interface AttemptWatch {
  /** Ends the watch; resolves when all work has ended. */
  close(): Promise<void>
}

/** @param observe Called for each attempt. Its promise, if any, must not reject. */
export function watchAttempts(
  observe: (note: AttemptNote, accountId: AccountId, trace?: TraceContext) => Promise<void> | undefined,
): AttemptWatch {
  const running = new Set<Promise<void>>()
  const onCompletion = (message: unknown): void => {
    const { record, trace } = message as CompletionSignal
    if (record.attemptLog === undefined) return
    for (const note of record.attemptLog) {
      const work = observe(note, record.accountId, trace)
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
