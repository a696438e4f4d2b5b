/**
 * Requests of this process that have a key or are about to get it, and those that wait for them here. One that has ended
 * keeps nothing of its answer alive.
 */
import type { KeptAnswer } from '../../domain/credit.ts'
import type { Claim } from './rows.ts'

/** `gave up`: it could wait no longer for its turn, which says nothing about those that can. */
export type Ended =
  | { readonly kind: 'answer'; readonly answer: KeptAnswer }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'gave up' }
  /** It has not ended, but can be listened to: see `share`. */
  | { readonly kind: 'shared' }
  | { readonly kind: 'elsewhere'; readonly subjectId: string; readonly instanceId: string }

export interface RunningKey {
  readonly name: string
  readonly claim: Claim
  /** Whether it is its turn, so that its lease is to be renewed. */
  running: boolean
  /** Whether it can be listened to. */
  shared: boolean
  waiters: ((ended: Ended) => void)[]
}

export interface RunningKeys {
  /** The one with the same key and the same body. */
  find(claim: Claim): RunningKey | undefined
  add(claim: Claim): RunningKey
  /** Resolves with its end; undefined when it has not come within `patienceMs`. */
  waitFor(running: RunningKey, patienceMs: number): Promise<Ended | undefined>
  /** It can be listened to: nobody need wait for its end. */
  share(running: RunningKey): void
  /** Tells those who wait. Only the first call counts. */
  end(running: RunningKey, ended: Ended): void
  endAll(ended: Ended): void
  /** Those whose turn it is. */
  claims(): Claim[]
  readonly size: number
}

export function createRunningKeys(): RunningKeys {
  const all = new Map<string, RunningKey>()
  const end = (running: RunningKey, ended: Ended) => {
    if (all.get(running.name) !== running) return
    all.delete(running.name)
    tellAll(running, ended)
  }
  return {
    find: (claim) => all.get(nameOf(claim)),
    add(claim) {
      const running: RunningKey = { name: nameOf(claim), claim, running: false, shared: false, waiters: [] }
      all.set(running.name, running)
      return running
    },
    waitFor,
    share(running) {
      running.shared = true
      tellAll(running, { kind: 'shared' })
    },
    end,
    endAll(ended) {
      for (const running of [...all.values()]) end(running, ended)
    },
    claims: () => [...all.values()].filter(({ running }) => running).map(({ claim }) => claim),
    get size() {
      return all.size
    },
  }
}

function tellAll(running: RunningKey, ended: Ended): void {
  const { waiters } = running
  running.waiters = []
  for (const tell of waiters) tell(ended)
}

function waitFor(running: RunningKey, patienceMs: number): Promise<Ended | undefined> {
  return new Promise((resolve) => {
    const tell = (ended: Ended) => {
      clearTimeout(timer)
      resolve(ended)
    }
    const timer = setTimeout(() => {
      running.waiters = running.waiters.filter((waiter) => waiter !== tell)
      resolve(undefined)
    }, patienceMs)
    running.waiters.push(tell)
  })
}

/** With the body: another one is not to wait for an answer that is not its own. No part can contain a line feed. */
function nameOf({ accountId, endpoint, key, fingerprint }: Claim): string {
  return `${accountId}\n${endpoint}\n${key}\n${Buffer.from(fingerprint).toString('latin1')}`
}
