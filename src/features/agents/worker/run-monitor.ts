/** Monitors a run: whether it was cancelled, taken over by another worker, exceeds its time limit, or has stalled. */
import type { RunError } from '../../../domain/agent.ts'
import { GatewayError } from '../../../domain/errors.ts'
import { JobInterrupted } from '../../../jobs/job.ts'
import { type RunClaim, readOrders } from '../run.ts'
import type { WorkerDeps } from './deps.ts'

/** `lost`: another worker has it. `leaving`: this process is stopping. */
export type Stop =
  | { readonly kind: 'lost' | 'leaving' | 'cancelled' }
  | { readonly kind: 'failed'; readonly code: RunError }

/** Why a run was interrupted. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped'
  readonly stop: Stop

  constructor(stop: Stop) {
    super(`The run is to stop: ${stop.kind}.`)
    this.stop = stop
  }
}

export interface Watch {
  /** Aborted with a `RunStopped`; the first reason counts. */
  readonly signal: AbortSignal
  /** Aborted when another worker has the run: this process must not act for it any more. */
  readonly lost: AbortSignal
  /** Records progress. */
  progressed(): void
  end(): void
}

export interface Watched {
  readonly claim: RunClaim
  /** Unix milliseconds. */
  readonly startedAt: number
  /** Of the job. */
  readonly job: AbortSignal
}

type Deps = Pick<WorkerDeps, 'db' | 'now' | 'clock' | 'limits' | 'leaving' | 'log'>

export function watchRun(deps: Deps, { claim, startedAt, job }: Watched): Watch {
  const { now, clock, limits, leaving } = deps
  const controller = new AbortController()
  const lost = new AbortController()
  const stop = (reason: Stop): void => {
    controller.abort(new RunStopped(reason))
    if (reason.kind === 'lost') lost.abort(new RunStopped(reason))
  }
  let progressedAt = clock()
  let looking = false
  const look = async (): Promise<void> => {
    if (controller.signal.aborted) return
    if (now() - startedAt >= limits.wallMs) return stop({ kind: 'failed', code: 'run_timeout' })
    if (clock() - progressedAt >= limits.stalledMs) return stop({ kind: 'failed', code: 'stalled' })
    if (looking) return
    looking = true
    const orders = await ordersOf(deps, claim).finally(() => {
      looking = false
    })
    if (orders !== undefined) stop({ kind: orders })
  }
  const interrupted = (): void => stop({ kind: isLost(job) ? 'lost' : 'leaving' })
  const leave = (): void => stop({ kind: 'leaving' })
  if (job.aborted) interrupted()
  if (leaving.aborted) leave()
  job.addEventListener('abort', interrupted, { once: true })
  leaving.addEventListener('abort', leave, { once: true })
  const timer = setInterval(() => void look(), limits.pollMs)
  return {
    signal: controller.signal,
    lost: lost.signal,
    progressed() {
      progressedAt = clock()
    },
    end() {
      clearInterval(timer)
      job.removeEventListener('abort', interrupted)
      leaving.removeEventListener('abort', leave)
    },
  }
}

/** While the database is unavailable, the job's lease decides. */
async function ordersOf({ db, log }: Deps, claim: RunClaim): Promise<'lost' | 'cancelled' | undefined> {
  try {
    return await readOrders(db, claim)
  } catch (error) {
    if (!(error instanceof GatewayError))
      log.warn({ err: error, run: claim.runId }, 'the orders of a run cannot be read')
    return undefined
  }
}

export function isLost({ reason }: AbortSignal): boolean {
  return reason instanceof JobInterrupted && reason.reason === 'lost'
}
