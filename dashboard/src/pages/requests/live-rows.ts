/** Requests that came by themselves, put among those of the list. */

interface Row {
  /** Sorts by when it began. */
  readonly id: string
  /** ISO 8601 UTC. */
  readonly created_at: string
}

export interface NewestOf {
  readonly limit: number
  /** ISO 8601: what began before it is left out. */
  readonly since?: string
}

/** The newest of both, the newest first, each once. */
export function newestOf<Known extends Row>(
  come: readonly Known[],
  listed: readonly Known[],
  { limit, since }: NewestOf,
): readonly Known[] {
  const first = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since)
  const byId = new Map([...listed, ...come].map((row) => [row.id, row]))
  return [...byId.values()]
    .filter((row) => Date.parse(row.created_at) >= first)
    .sort((one, other) => (one.id < other.id ? 1 : -1))
    .slice(0, limit)
}
