/**
 * The calls that a provider gets at once, and who waits for a free place: each account has a line of its own, and the
 * lines take turns, so that many requests of one account do not delay another's single one by more than a turn.
 */

/** Requests that wait for one provider. */
export const MAX_WAITING = 1_000
/** Of one account among them. */
export const MAX_WAITING_OF_ACCOUNT = 100

export interface Waiter {
  /** Resolves when it has got its place, or has left. */
  readonly over: Promise<void>
  /** It has its place, which is then to be given back. */
  granted(): boolean
  /** Does not wait any longer; harmless after it got its place. */
  leave(): void
}

export interface Places {
  /** Whether `size` calls could begin now, before all who wait. */
  isFree(size: number): boolean
  /** Begins `size` calls, whatever the limit is. */
  take(size: number): void
  /** Ends them; who waits gets the place. */
  giveBack(size: number): void
  /** @returns undefined when too many wait. */
  join(account: string, size: number): Waiter | undefined
  /** Undefined: no limit. */
  limitTo(limit: number | undefined): void
  inFlight(): number
  waiting(): number
}

interface Waiting {
  readonly size: number
  readonly resolve: () => void
  granted: boolean
}

interface Line {
  readonly account: string
  readonly waiting: Waiting[]
}

export function createPlaces(limit?: number): Places {
  const places = createState(limit ?? Number.POSITIVE_INFINITY)
  return {
    isFree: (size) => places.waiting === 0 && fits(places, size),
    take(size) {
      places.inFlight += size
    },
    giveBack(size) {
      places.inFlight -= size
      if (places.waiting > 0) serve(places)
    },
    join: (account, size) => join(places, account, size),
    limitTo(next) {
      places.limit = next ?? Number.POSITIVE_INFINITY
      serve(places)
    },
    inFlight: () => places.inFlight,
    waiting: () => places.waiting,
  }
}

interface PlacesState {
  limit: number
  inFlight: number
  waiting: number
  /** Of those who wait; the first one's turn is next. */
  readonly lines: Line[]
}

function createState(limit: number): PlacesState {
  return { limit, inFlight: 0, waiting: 0, lines: [] }
}

/** More calls than ever have a place at once begin when nothing else is under way. */
function fits({ inFlight, limit }: PlacesState, size: number): boolean {
  return inFlight + size <= limit || inFlight === 0
}

function join(places: PlacesState, account: string, size: number): Waiter | undefined {
  if (places.waiting >= MAX_WAITING) return undefined
  let line = places.lines.find((each) => each.account === account)
  if (line === undefined) {
    line = { account, waiting: [] }
    places.lines.push(line)
  }
  if (line.waiting.length >= MAX_WAITING_OF_ACCOUNT) return undefined
  const { promise, resolve } = Promise.withResolvers<void>()
  const waiting: Waiting = { size, resolve, granted: false }
  line.waiting.push(waiting)
  places.waiting += 1
  serve(places)
  return { over: promise, granted: () => waiting.granted, leave: () => leave(places, account, waiting) }
}

function leave(places: PlacesState, account: string, waiting: Waiting): void {
  const position = places.lines.findIndex((line) => line.account === account)
  const line = places.lines[position]
  const at = line?.waiting.indexOf(waiting) ?? -1
  if (line === undefined || at < 0) return
  line.waiting.splice(at, 1)
  if (line.waiting.length === 0) places.lines.splice(position, 1)
  places.waiting -= 1
  waiting.resolve()
  serve(places) // it may have been too large for what was free, and the next one is not
}

function serve(places: PlacesState): void {
  for (;;) {
    const [line] = places.lines
    const next = line?.waiting[0]
    if (line === undefined || next === undefined || !fits(places, next.size)) return
    line.waiting.shift()
    places.lines.shift()
    if (line.waiting.length > 0) places.lines.push(line)
    places.waiting -= 1
    places.inFlight += next.size
    next.granted = true
    next.resolve()
  }
}
