/**
 * Named points of a request at which tests kill the process, from a module that is loaded before the program. In production
 * each costs one branch.
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

/** Reports that the program has reached a point. */
export function reach(point: CrashPoint): void {
  if (listener !== undefined) listener(point)
}

/** Sets the only listener; undefined removes it. */
export function onReach(listen: ((point: CrashPoint) => void) | undefined): void {
  listener = listen
}
