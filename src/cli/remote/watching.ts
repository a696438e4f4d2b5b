/** For commands that a person lets run: how they are stopped, and what is said of their connection. */
import type { StreamWatcher } from './kept-stream.ts'
import { note } from './results.ts'

/** The signal is for Ctrl-C, and for whoever else ends processes. */
export async function untilStopped(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    await work(stopping.signal)
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

/** As a part of a watcher. */
export const TOLD_OF_CONNECTION: Pick<StreamWatcher, 'onConnected' | 'onLost'> = {
  onConnected(lostMs) {
    if (lostMs !== undefined) note(`Connected again after ${(lostMs / 1_000).toFixed(1)} s.`)
  },
  onLost: (reason) => note(`Connection lost: ${reason}. Trying again.`),
}
