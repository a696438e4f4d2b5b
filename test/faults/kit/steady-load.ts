/** Requests at a steady rate, whatever becomes of them. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface SteadyLoad {
  readonly perSecond: number
  readonly forMs: number
  /** It goes on beyond `forMs` until there were so many. */
  readonly atLeast: number
  /** Under way at once, so that a moment in which nothing is answered is no burst. */
  readonly atOnce: number
}

/** Resolves when the last one is answered. A machine that is too slow for the rate gets fewer, never a burst. */
export async function steadyLoad<T>(load: SteadyLoad, ask: () => Promise<T>): Promise<T[]> {
  const { perSecond, forMs, atLeast, atOnce } = load
  const asked: Promise<T>[] = []
  const underWay = new Set<Promise<T>>()
  const until = performance.now() + forMs
  while (performance.now() < until || asked.length < atLeast) {
    const answer = ask()
    asked.push(answer)
    underWay.add(answer)
    const isOver = (): unknown => underWay.delete(answer)
    answer.then(isOver, isOver)
    await sleep(1000 / perSecond)
    if (underWay.size >= atOnce) await Promise.race(underWay)
  }
  return Promise.all(asked)
}

/** Asks again and again until it is as wished. @returns how many milliseconds that took; undefined: it never was. */
export async function untilFirst<T>(
  ask: () => Promise<T>,
  wished: (answer: T) => boolean,
  { everyMs, withinMs }: { readonly everyMs: number; readonly withinMs: number },
): Promise<number | undefined> {
  const from = performance.now()
  while (performance.now() - from < withinMs) {
    if (wished(await ask())) return performance.now() - from
    await sleep(everyMs)
  }
  return undefined
}
