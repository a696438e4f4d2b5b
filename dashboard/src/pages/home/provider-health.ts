/** The health of providers for status chips: from the models that they serve, or from the operator's list of providers. */
export interface ProviderHealth {
  readonly name: string
  /** `open` (paused): from the models, which have no reason; `down`: from the operator's list. */
  readonly status: 'healthy' | 'degraded' | 'open' | 'down' | 'unknown'
  /** `12 models`, `2 of 12 models paused`, `340 calls, 1.2% failed`, `Key refused (401) · 3 calls, 100% failed` */
  readonly detail: string
}

interface Served {
  readonly alias_of?: string
  readonly providers: readonly { readonly name: string; readonly healthy: boolean }[]
}

/** By name. */
export function healthFromModels(models: readonly Served[]): readonly ProviderHealth[] {
  const entries = models.filter(({ alias_of: target }) => target === undefined).flatMap(({ providers }) => providers)
  return [...Map.groupBy(entries, ({ name }) => name)]
    .map(([name, all]) => {
      const paused = all.filter(({ healthy }) => !healthy).length
      const models = `${all.length} ${all.length === 1 ? 'model' : 'models'}`
      if (paused === 0) return { name, status: 'healthy' as const, detail: models }
      return {
        name,
        status: paused === all.length ? ('open' as const) : ('degraded' as const),
        detail: `${paused} of ${models} paused`,
      }
    })
    .toSorted(byName)
}

interface State {
  readonly name: string
  readonly status: 'healthy' | 'degraded' | 'down' | 'disabled'
  readonly problem: string | null
  readonly last_24h: { readonly calls: number; readonly failures: number }
}

/** By name, over the last 24 hours. A provider without calls is neither healthy nor down. */
export function healthFromStates(
  states: readonly State[],
  percent: (ratio: number) => string,
): readonly ProviderHealth[] {
  return states
    .map(({ name, status, problem, last_24h: { calls, failures } }) => {
      if (status === 'disabled') return { name, status: 'unknown' as const, detail: 'disabled' }
      if (calls === 0 && status === 'healthy')
        return { name, status: 'unknown' as const, detail: 'in the last 24 hours' }
      const counts = `${calls} ${calls === 1 ? 'call' : 'calls'}, ${percent(calls === 0 ? 0 : failures / calls)} failed`
      return { name, status, detail: problem === null ? counts : `${problem} · ${counts}` }
    })
    .toSorted(byName)
}

function byName(one: ProviderHealth, other: ProviderHealth): number {
  return one.name < other.name ? -1 : 1
}

interface Attempt {
  readonly provider: string
  readonly outcome: string
  readonly status: number | null
}

const WORDS: Readonly<Record<string, string>> = {
  answered: 'interrupted the answer',
  abandoned: 'was cancelled before an answer',
  rejected: 'rejected the request',
  credentials: 'rejected our credentials',
  quota: 'is out of quota',
  rate_limited: 'rate limited the request',
  not_found: 'has no such model',
  overloaded: 'was overloaded',
  failed: 'failed',
  cut: 'broke off',
}

/** `openai was overloaded (503)`; undefined where nothing is known of it. */
export function failureText(attempts: readonly Attempt[]): string | undefined {
  const last = attempts.at(-1)
  if (last === undefined) return undefined
  const { provider, outcome, status } = last
  const code = status === null || status < 400 ? '' : ` (${status})`
  return `${provider} ${WORDS[outcome] ?? outcome.replaceAll('_', ' ')}${code}`
}
