/** Batches concurrent database work: items that arrive while a call is running go into the next one. */
import { GatewayError } from '../domain/errors.ts'

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export interface BatcherOptions<Item> {
  /** Items of one call at most. */
  readonly size: number
  /** If more items wait than fit into a call, they are taken round-robin by lane. Undefined: first come, first served. */
  readonly laneOf?: (item: Item) => string
}

/**
 * Items that arrive while `work` runs go into its next call, in order. A failed call is repeated for each item separately, so
 * that an invalid one does not fail the others; if the database is unavailable, all are rejected.
 * @param work Its results are in the order of the items.
 */
export function createBatcher<Item, Result>(
  { size, laneOf }: BatcherOptions<Item>,
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []
  let isWorking = false
  const processGroup = async (group: readonly Waiting<Item, Result>[]): Promise<void> => {
    try {
      const results = await work(group.map(({ item }) => item))
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result) // one for each item
    } catch (error) {
      if (group.length === 1 || mayPass(error)) for (const { reject } of group) reject(error)
      else for (const one of group) await processGroup([one])
    }
  }
  const workThrough = async (): Promise<void> => {
    isWorking = true
    await Promise.resolve() // items of the same tick share a call
    while (waiting.length > 0) {
      if (laneOf !== undefined && waiting.length > size) waiting = roundRobin(waiting, ({ item }) => laneOf(item))
      const group = waiting.slice(0, size)
      waiting = waiting.slice(size)
      await processGroup(group)
    }
    isWorking = false
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!isWorking) void workThrough()
    })
}

/** The first of each lane, then the second of each, and so on. */
function roundRobin<Item>(items: readonly Item[], laneOf: (item: Item) => string): Item[] {
  const lengths = new Map<string, number>()
  const ranked = items.map((item) => {
    const lane = laneOf(item)
    const rank = lengths.get(lane) ?? 0
    lengths.set(lane, rank + 1)
    return { item, rank }
  })
  return ranked.sort((one, other) => one.rank - other.rank).map(({ item }) => item)
}

/** Whether a repetition may succeed. */
export function mayPass(error: unknown): boolean {
  return error instanceof GatewayError && error.retryable
}
