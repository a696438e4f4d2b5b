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

interface Shared {
  listener: ((point: CrashPoint) => void) | undefined
}

/** Such a module loads this one from its source, the program perhaps from the bundle: both find the same listener. */
const SHARED = Symbol.for('turnpike.crash-point')
const global: typeof globalThis & { [SHARED]?: Shared } = globalThis
global[SHARED] ??= { listener: undefined }
const shared: Shared = global[SHARED]

/** Reports that the program has reached a point. */
export function reach(point: CrashPoint): void {
  if (shared.listener !== undefined) shared.listener(point)
}

/** Sets the only listener; undefined removes it. */
export function onReach(listen: ((point: CrashPoint) => void) | undefined): void {
  shared.listener = listen
}
