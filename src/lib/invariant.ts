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
