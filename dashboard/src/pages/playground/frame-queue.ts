/** Collects what comes in, and hands it on once a frame: a page that is drawn 60 times a second need not know more often. */

/** A page in the background is given no frames. */
const HIDDEN_MS = 200

export interface FrameQueue<Item> {
  readonly push: (item: Item) => void
  /** Hands on at once what is there. */
  readonly drain: () => void
}

export interface Frames {
  readonly request: (callback: () => void) => number
  readonly cancel: (handle: number) => void
}

const BROWSER: Frames = {
  request: (callback) => requestAnimationFrame(callback),
  cancel: (handle) => cancelAnimationFrame(handle),
}

export function createFrameQueue<Item>(
  flush: (items: readonly Item[]) => void,
  frames: Frames = BROWSER,
): FrameQueue<Item> {
  let items: Item[] = []
  let waiting: { readonly frame: number; readonly timer: ReturnType<typeof setTimeout> } | undefined
  const drain = (): void => {
    if (waiting !== undefined) {
      frames.cancel(waiting.frame)
      clearTimeout(waiting.timer)
      waiting = undefined
    }
    if (items.length === 0) return
    const batch = items
    items = []
    flush(batch)
  }
  return {
    push(item) {
      items.push(item)
      waiting ??= { frame: frames.request(drain), timer: setTimeout(drain, HIDDEN_MS) }
    },
    drain,
  }
}
