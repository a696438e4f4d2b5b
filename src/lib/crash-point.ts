/** Crashes on purpose: broken invariants, and named points of a request at which tests kill the process. */

/** A condition that no input can break is broken: the state of this process is wrong. */
export class BrokenInvariant extends Error {
  override readonly name = 'BrokenInvariant'
}

/**
 * Throws unless `holds`, and a second time outside of any handler: handlers would turn the error into a response, and a
 * process with wrong counters must crash. Only for state that a restart repairs, never for data of the database, which the
 * next process would read again.
 */
export function invariant(holds: boolean, message: string): asserts holds {
  if (holds) return
  const error = new BrokenInvariant(message)
  queueMicrotask(() => {
    throw error
  })
  throw error
}

/* A test sets a listener from a module that is loaded before the program. In production each point costs one branch. */

export const CRASH_POINTS = [
  'after_hold',
  'before_send',
  'after_send',
  'mid_stream',
  'after_last_byte',
  'before_settle',
  'in_settle',
  'after_settle',
  'before_idem_store',
  'in_sweeper',
] as const
/** Those of background work. */
const WORK_CRASH_POINTS = [
  'after_webhook_post',
  'agent_cloning',
  'agent_committing',
  'agent_pushing',
  'agent_pushed',
  'agent_ending',
] as const
export type CrashPoint = (typeof CRASH_POINTS)[number] | (typeof WORK_CRASH_POINTS)[number]

let listener: ((point: CrashPoint) => void) | undefined

/** Reports that the program has reached a point. */
export function reach(point: CrashPoint): void {
  if (listener !== undefined) listener(point)
}

/** Sets the only listener; undefined removes it. */
export function onReach(listen: ((point: CrashPoint) => void) | undefined): void {
  listener = listen
}
