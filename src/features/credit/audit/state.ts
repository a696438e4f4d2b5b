/** The state of an audit as text: JSON, with amounts as `n:…`. */
export function stateText(state: unknown): string {
  return JSON.stringify(state, (_key, value: unknown) => (typeof value === 'bigint' ? `n:${value}` : value))
}

/** What `stateText` was given. */
export function readState<State>(text: string): State {
  return JSON.parse(text, (_key, value: unknown) =>
    typeof value === 'string' && /^n:-?\d+$/.test(value) ? BigInt(value.slice(2)) : value,
  ) as State
}
