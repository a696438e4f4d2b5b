/** Discrete-event simulation: a clock that jumps from event to event, and servers with queues. Times are microseconds. */

type Action = () => void

export interface Simulation {
  now(): number
  /** Runs the action after a delay. Actions at the same time run in the order in which they were scheduled. */
  after(delayUs: number, action: Action): void
  /** Runs all events up to a time. */
  runUntil(timeUs: number): void
}

interface Event {
  readonly timeUs: number
  readonly number: number
  readonly action: Action
}

export function createSimulation(): Simulation {
  const heap: Event[] = []
  let [nowUs, scheduled] = [0, 0]
  return {
    now: () => nowUs,
    after(delayUs, action) {
      push(heap, { timeUs: nowUs + delayUs, number: scheduled++, action })
    },
    runUntil(timeUs) {
      for (let next = heap[0]; next !== undefined && next.timeUs <= timeUs; next = heap[0]) {
        pop(heap)
        nowUs = next.timeUs
        next.action()
      }
      nowUs = timeUs
    },
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.timeUs < other.timeUs || (one.timeUs === other.timeUs && one.number < other.number)
}

function push(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    const above = heap[parent] as Event
    if (!isBefore(event, above)) break
    heap[at] = above
    at = parent
  }
  heap[at] = event
}

/** Removes the first event. */
function pop(heap: Event[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    const [left, right] = [heap[child], heap[child + 1]]
    if (left === undefined) break
    let least = left
    if (right !== undefined && isBefore(right, left)) {
      least = right
      child++
    }
    if (!isBefore(least, last)) break
    heap[at] = least
    at = child
  }
  heap[at] = last
}

/** Serves tasks in the order of their arrival. */
export interface Server {
  /** @param action Runs when the task has been served. */
  serve(serviceUs: number, action: Action): void
  /** Microseconds of service so far, of all its places. */
  busyUs(): number
}

/** A server with several places, such as the cores of a database's machine. */
export function createServer(simulation: Simulation, places: number): Server {
  const waiting: (() => void)[] = []
  let [first, free, busyUs] = [0, places, 0]
  const begin = (serviceUs: number, action: Action): void => {
    free--
    busyUs += serviceUs
    simulation.after(serviceUs, () => {
      free++
      const next = waiting[first]
      if (next !== undefined) {
        first++
        if (first === waiting.length) first = waiting.length = 0
        next()
      }
      action()
    })
  }
  return {
    busyUs: () => busyUs,
    serve(serviceUs, action) {
      if (free > 0) begin(serviceUs, action)
      else waiting.push(() => begin(serviceUs, action))
    },
  }
}

/** Threads that share the cores of a machine. Each serves one task at a time. */
export function createThreads(simulation: Simulation, cores: number, count: number): readonly Server[] {
  const machine = createServer(simulation, cores)
  return Array.from({ length: count }, () => createThread(machine))
}

function createThread(machine: Server): Server {
  const waiting: (readonly [number, Action])[] = []
  let [first, isBusy, busyUs] = [0, false, 0]
  const begin = (serviceUs: number, action: Action): void => {
    isBusy = true
    busyUs += serviceUs
    machine.serve(serviceUs, () => {
      isBusy = false
      const next = waiting[first]
      if (next !== undefined) {
        first++
        if (first === waiting.length) first = waiting.length = 0
        begin(...next)
      }
      action()
    })
  }
  return {
    busyUs: () => busyUs,
    serve(serviceUs, action) {
      if (isBusy) waiting.push([serviceUs, action])
      else begin(serviceUs, action)
    },
  }
}

/** Grants each name to one holder at a time, in the order of asking, as a database grants the locks of rows. */
export interface Locks {
  acquire(name: number, action: Action): void
  release(name: number): void
}

export function createLocks(): Locks {
  const waiting = new Map<number, Action[]>()
  return {
    acquire(name, action) {
      const queue = waiting.get(name)
      if (queue === undefined) {
        waiting.set(name, [])
        action()
      } else queue.push(action)
    },
    release(name) {
      const next = waiting.get(name)?.shift()
      if (next === undefined) waiting.delete(name)
      else next()
    },
  }
}
