/**
 * Cache of entries that have a version: an entry is read again when a version newer than its own is wanted. For what an
 * account has, whose version is part of its callers: what invalidates callers in all processes invalidates this, too.
 */
import { createLruCache } from './collections.ts'

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
