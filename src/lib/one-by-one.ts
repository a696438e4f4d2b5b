/**
 * Work that is heavy together: each begins when the one before it has ended, whatever came of that.
 * @returns Puts work into the queue, and tells what came of it.
 */
export function createQueueOfOne(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}
