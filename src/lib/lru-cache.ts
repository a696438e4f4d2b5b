/** A map that never holds more than `capacity` entries: the one that was not asked for the longest goes first. */
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

/** Remembers the results of a pure function of a short text, such as a model's name, for the latest `capacity` texts. */
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
