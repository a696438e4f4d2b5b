/** Deleting little by little: the database's one writer has requests to admit in between. */
import { setTimeout as pause } from 'node:timers/promises'

/** Rows deleted in one transaction. */
export const BATCH_ROWS = 500
/** Pauses are so many times as long as what they follow, so the writer is there for others most of the time. */
const PAUSE_FACTOR = 3

/**
 * @param deleteSome Deletes at most `BATCH_ROWS`, and says how many; none: nothing is left.
 * @returns How many were deleted. Rejects when `signal` is aborted; what was deleted until then stays so.
 */
export async function inBatches(deleteSome: () => Promise<number>, signal?: AbortSignal): Promise<number> {
  let total = 0
  for (;;) {
    signal?.throwIfAborted()
    const begun = performance.now()
    const deleted = await deleteSome()
    const tookMs = performance.now() - begun
    if (deleted === 0) return total
    total += deleted
    await pause(tookMs * PAUSE_FACTOR, undefined, signal === undefined ? {} : { signal })
  }
}
