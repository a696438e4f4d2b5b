/**
 * Group commit: what comes while a transaction is under way goes into the next one, in order, so that many requests
 * share the wait for the disk.
 */
import type { BatchStatement } from '../../db/open.ts'
import { isUnavailable } from './unavailable.ts'

const MAX_BATCH = 200

/**
 * Resolves when the statement is committed. Statements are carried out in the order of the calls. Rejects with
 * `database_unavailable` together with its whole batch, with anything else alone.
 */
export type StatementQueue = (statement: BatchStatement) => Promise<void>

interface Waiting {
  readonly statement: BatchStatement
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export function createStatementQueue(batch: (statements: readonly BatchStatement[]) => Promise<void>): StatementQueue {
  let waiting: Waiting[] = []
  let working = false
  const work = async () => {
    working = true
    while (waiting.length > 0) {
      const taken = waiting.slice(0, MAX_BATCH)
      waiting = waiting.slice(taken.length)
      await commit(batch, taken)
    }
    working = false
  }
  return (statement) =>
    new Promise((resolve, reject) => {
      waiting.push({ statement, resolve, reject })
      if (!working) void work()
    })
}

async function commit(
  batch: (statements: readonly BatchStatement[]) => Promise<void>,
  taken: readonly Waiting[],
): Promise<void> {
  try {
    await batch(taken.map(({ statement }) => statement))
    for (const { resolve } of taken) resolve()
  } catch (error) {
    if (taken.length === 1 || isUnavailable(error)) for (const { reject } of taken) reject(error)
    else for (const one of taken) await commit(batch, [one]) // one that is refused does not take the others with it
  }
}
