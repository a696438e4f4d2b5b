/** Turns at the writing thread: first come, first served, and a transaction keeps its turn until it ends. */
import { databaseUnavailable } from './failure.ts'
import type { QueryRows } from './message.ts'
import { type DatabaseThread, MAX_WAITING_MESSAGES, type ThreadRequest } from './thread.ts'

export interface Writer {
  /** Outside transactions: goes out as soon as no transaction holds the thread and nobody came earlier. */
  send(request: ThreadRequest): Promise<QueryRows | undefined>
  /** A program is one transaction of its own: it takes its turn like a single statement. */
  run(name: string, payload: unknown): Promise<unknown>
  /** Resolves when the thread belongs to the caller alone, who then must `release` it. */
  hold(): Promise<void>
  /** For who holds the thread. */
  sendHeld(request: ThreadRequest): Promise<QueryRows | undefined>
  release(): void
}

export function createWriter(thread: DatabaseThread): Writer {
  const queue: (() => void)[] = []
  let held = false
  const inTurn = <Result>(action: () => Promise<Result>): Promise<Result> => {
    if (!held && queue.length === 0) return action()
    if (queue.length >= MAX_WAITING_MESSAGES)
      return Promise.reject(databaseUnavailable(new Error('Too much is waiting.')))
    return new Promise((resolve, reject) => queue.push(() => void action().then(resolve, reject)))
  }
  return {
    send: (request) => inTurn(() => thread.send(request)),
    run: (name, payload) => inTurn(() => thread.run(name, payload)),
    hold: () =>
      inTurn(() => {
        held = true
        return Promise.resolve()
      }),
    sendHeld: (request) => thread.send(request),
    release() {
      held = false
      while (!held && queue.length > 0) queue.shift()?.()
    },
  }
}
