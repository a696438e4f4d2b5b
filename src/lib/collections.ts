/* Collections of the hot path: a bounded cache, items in flight, a fair queue. */

/** A map of at most `capacity` entries, which evicts the least recently used one. */
export interface LruCache<Value> {
  get(key: string): Value | undefined
  set(key: string, value: Value): void
  delete(key: string): void
  clear(): void
  entries(): IterableIterator<[key: string, value: Value]>
  readonly size: number
}

/** @param capacity At least 1. */
export function createLruCache<Value>(capacity: number): LruCache<Value> {
  const entries = new Map<string, Value>()
  let newest: string | undefined
  return {
    get(key) {
      const value = entries.get(key)
      if (value === undefined || key === newest) return value
      entries.delete(key)
      entries.set(key, value)
      newest = key
      return value
    },
    set(key, value) {
      entries.delete(key)
      const oldest = entries.keys().next().value
      if (entries.size >= capacity && oldest !== undefined) entries.delete(oldest)
      entries.set(key, value)
      newest = key
    },
    delete: (key) => void entries.delete(key),
    clear: () => entries.clear(),
    entries: () => entries.entries(),
    get size() {
      return entries.size
    },
  }
}

/** Caches the results of a pure function of a short text, such as a model's name, for the latest `capacity` texts. */
export function memoize<Value extends object>(of: (text: string) => Value, capacity: number): (text: string) => Value {
  const known = createLruCache<Value>(capacity)
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const value = of(text)
    known.set(text, value)
    return value
  }
}

/**
 * Items in flight. An array, not a `Set`: constant additions and deletions rebuild a set again and again, and each old table
 * keeps its items alive until the next full garbage collection.
 */
export interface InFlight<Item> {
  /** @returns Removes the item; only the first call counts. */
  add(item: Item): () => void
  items(): readonly Item[]
  readonly size: number
}

export function createInFlight<Item>(): InFlight<Item> {
  const entries: { readonly item: Item; at: number }[] = []
  return {
    add(item) {
      const entry = { item, at: entries.length }
      entries.push(entry)
      return () => {
        if (entries[entry.at] !== entry) return
        const last = entries.pop()
        if (last === undefined || last === entry) return
        last.at = entry.at
        entries[entry.at] = last
      }
    },
    items: () => entries.map(({ item }) => item),
    get size() {
      return entries.length
    },
  }
}

/** A queue that serves its owners in rotation, and the items of each owner in their order. */
export interface Rotation<Item> {
  add(owner: string, item: Item): void
  take(): Item | undefined
  readonly size: number
}

export function createRotation<Item>(): Rotation<Item> {
  /** Ordered by the last service, the earliest first. */
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

/*
 * Cache of entries that have a version: an entry is read again when a version newer than its own is wanted. For what
 * an account has, whose version is part of its callers: what invalidates callers in all processes invalidates this,
 * too.
 */

interface Versioned {
  readonly version: number
}

export interface VersionedCache<Entry extends Versioned> {
  /** At least of that version. A promise where it must be read; it rejects with `database_unavailable`. */
  get(id: string, version: number): Entry | Promise<Entry>
}

/** @param read Version and content in one query. `before` is the entry of an older version. */
export function createVersionedCache<Entry extends Versioned>(
  capacity: number,
  read: (id: string, before: Entry | undefined) => Promise<Entry>,
): VersionedCache<Entry> {
  const entries = createLruCache<Entry>(capacity)
  const loading = new Map<string, Promise<Entry>>()

  async function load(id: string): Promise<Entry> {
    const entry = await read(id, entries.get(id))
    entries.set(id, entry)
    return entry
  }
  /** One query for concurrent requests; a query that began before a change is not enough for those after it. */
  async function loadAtLeast(id: string, version: number): Promise<Entry> {
    for (;;) {
      let running = loading.get(id)
      const isShared = running !== undefined
      running ??= load(id).finally(() => loading.delete(id))
      loading.set(id, running)
      const entry = await running
      if (entry.version >= version || !isShared) return entry
    }
  }
  return {
    get(id, version) {
      const entry = entries.get(id)
      return entry !== undefined && entry.version >= version ? entry : loadAtLeast(id, version)
    },
  }
}
