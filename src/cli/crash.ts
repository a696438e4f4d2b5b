/**
 * How the process ends when it cannot trust itself any more, and what it survives. An error in one request is answered, and
 * a promise that nobody waited for concerns whoever made it: both are logged. An exception that nobody caught, and a broken
 * invariant wherever it shows, concern everybody: what is in memory may be wrong, and what is on the disk is not.
 */

import type { OpenedLog } from '../http/log.ts'
import { BrokenInvariant } from '../lib/invariant.ts'
import type { Service } from '../main.ts'

/** What writing the spool and the log may take; then the process ends without. */
const CRASH_WITHIN_MS = 2_000

/** @param service Undefined as long as it starts. */
export function crashOnBrokenInvariants({ log, flush }: OpenedLog, service: () => Service | undefined): void {
  let crashing = false
  const crash = (error: unknown): void => {
    if (crashing) return
    crashing = true
    setTimeout(() => process.exit(1), CRASH_WITHIN_MS)
    log.fatal({ err: error }, 'the state of this process is not to be trusted: it ends')
    const kept = service()?.abandon() ?? Promise.resolve()
    void kept
      .catch((failure: unknown) => log.fatal({ err: failure }, 'the spool could not be brought to the disk'))
      .then(flush)
      .finally(() => process.exit(1))
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', (reason) => {
    if (reason instanceof BrokenInvariant) crash(reason)
    else log.error({ err: reason }, 'a promise failed that nobody waited for')
  })
}
