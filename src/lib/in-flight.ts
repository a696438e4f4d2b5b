/**
 * What is under way at the moment. An array and not a `Set`: a set that is added to and deleted from all the time is
 * rebuilt again and again, and each old table keeps what it held alive, with everything that hangs on it, until the
 * next full garbage collection.
 */
export interface InFlight<Item> {
  /** @returns takes the item off again; only the first call counts. */
  add(item: Item): () => void
  items(): readonly Item[]
  readonly size: number
}

interface Place<Item> {
  readonly item: Item
  at: number
}

export function createInFlight<Item>(): InFlight<Item> {
  const places: Place<Item>[] = []
  return {
    add(item) {
      const place: Place<Item> = { item, at: places.length }
      places.push(place)
      return () => {
        if (places[place.at] !== place) return
        const last = places.pop()
        if (last === undefined || last === place) return
        last.at = place.at
        places[place.at] = last
      }
    },
    items: () => places.map(({ item }) => item),
    get size() {
      return places.length
    },
  }
}
