/** How providers fare, in the words of the chips: from the models that they serve, or from what operators are told. */
export interface ProviderHealth {
  readonly name: string
  /** `open` (paused): from the models, which do not tell why; `down`: as operators are told. */
  readonly status: 'healthy' | 'degraded' | 'open' | 'down' | 'unknown'
  /** `12 models`, `2 of 12 models paused`, `340 calls, 1.2% failed` */
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
  readonly status: 'healthy' | 'degraded' | 'down'
  readonly deployments: readonly { readonly calls: number; readonly failed_calls: number; readonly breaker: string }[]
}

/** By name. One that was not called yet is neither well nor ill. */
export function healthFromStates(
  states: readonly State[],
  percent: (ratio: number) => string,
): readonly ProviderHealth[] {
  return states
    .map(({ name, status, deployments }) => {
      const calls = deployments.reduce((sum, deployment) => sum + deployment.calls, 0)
      const failed = deployments.reduce((sum, deployment) => sum + deployment.failed_calls, 0)
      if (calls === 0 && status === 'healthy')
        return { name, status: 'unknown' as const, detail: 'since the gateway started' }
      return {
        name,
        status,
        detail: `${calls} ${calls === 1 ? 'call' : 'calls'}, ${percent(calls === 0 ? 0 : failed / calls)} failed`,
      }
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
