/** What must hold whatever anybody sends: where it does not, this process is wrong about itself, and no answer helps. */
export class BrokenInvariant extends Error {
  override readonly name = 'BrokenInvariant'
}

/**
 * Throws unless `holds`, and once more where nobody can catch it: whoever stands between here and the top turns errors into
 * answers, and a process whose counters are wrong must not go on answering. In a server that is an orderly crash. For what
 * a new start mends, so never for what is only read wrong from a database: the next process would read the same.
 */
export function invariant(holds: boolean, message: string): asserts holds {
  if (holds) return
  const error = new BrokenInvariant(message)
  queueMicrotask(() => {
    throw error
  })
  throw error
}
