/** Accounts and keys whose state is kept; beyond it the rested are forgotten, then those seen first. */
export const MAX_LIMITED = 100_000

/** What is kept of an account or a key, changed in place: a map that is written with every request is slow to collect. */
export interface Standing {
  /** Of the requests a minute; undefined: never counted. Monotonic milliseconds. */
  requestsRestedAt: number | undefined
  /** Of the tokens a minute. */
  tokensRestedAt: number | undefined
  /** Requests under way. */
  inFlight: number
}

export interface Standings {
  /** Of an account or a key, by its id. */
  of(id: string): Standing
}

export function createStandings(clock: () => number): Standings {
  const standings = new Map<string, Standing>()
  return {
    of(id) {
      const known = standings.get(id)
      if (known !== undefined) return known
      if (standings.size >= MAX_LIMITED) forget(standings, clock())
      const standing = { requestsRestedAt: undefined, tokensRestedAt: undefined, inFlight: 0 }
      standings.set(id, standing)
      return standing
    },
  }
}

function forget(standings: Map<string, Standing>, now: number): void {
  for (const [id, { requestsRestedAt = 0, tokensRestedAt = 0, inFlight }] of standings) {
    if (inFlight === 0 && Math.max(requestsRestedAt, tokensRestedAt) <= now) standings.delete(id)
  }
  for (const [id, { inFlight }] of standings) {
    if (standings.size < MAX_LIMITED) return
    if (inFlight === 0) standings.delete(id)
  }
}
