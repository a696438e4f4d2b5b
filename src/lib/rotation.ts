/** A queue of several owners: each is served once before any is served again, and each one's items in their order. */
export interface Rotation<Item> {
  add(owner: string, item: Item): void
  take(): Item | undefined
  readonly size: number
}

export function createRotation<Item>(): Rotation<Item> {
  /** The owner that was served the longest ago first. */
  const queues = new Map<string, Item[]>()
  let size = 0
  return {
    add(owner, item) {
      const queue = queues.get(owner)
      if (queue === undefined) queues.set(owner, [item])
      else queue.push(item)
      size += 1
    },
    take() {
      const [first] = queues
      if (first === undefined) return undefined
      const [owner, queue] = first
      const item = queue.shift()
      queues.delete(owner)
      if (queue.length > 0) queues.set(owner, queue)
      size -= 1
      return item
    },
    get size() {
      return size
    },
  }
}
