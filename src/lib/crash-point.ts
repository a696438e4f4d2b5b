/**
 * Named moments of a request's life at which a process may die. Production pays one branch for each: only a test listens,
 * from a module that is loaded before the program, and ends the process there.
 */

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

/** The program has come to this point. Does nothing unless somebody listens. */
export function reach(point: CrashPoint): void {
  if (listener !== undefined) listener(point)
}

/** One listener at a time; undefined: nobody. */
export function onReach(listen: ((point: CrashPoint) => void) | undefined): void {
  listener = listen
}
