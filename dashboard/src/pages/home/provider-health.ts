/** The health of providers for status chips: from the models that they serve, or from the operator's list of providers. */
import { plural } from '../../lib/format.ts'
import { processText } from '../../lib/process-state.ts'
import { DEGRADED_SHARE, type UptimeHour } from '../../ui/uptime-strip-cells.ts'

export interface ProviderHealth {
  readonly name: string
  /** `open` (paused): from the models, which have no reason; `down`: from the operator's list. */
  readonly status: 'healthy' | 'degraded' | 'open' | 'down' | 'unknown'
  /** `12 models`, `2 of 12 models paused`, `340 calls, 1.2% failed` */
  readonly detail: string
  /** What the process waits for that answers: not part of the status. */
  readonly note?: string | undefined
  readonly lastFailure?: LastFailure | undefined
  /** What the status is of; undefined where nothing is known of it. */
  readonly hours: readonly UptimeHour[] | undefined
}

export interface LastFailure {
  /** `Key refused (401)` */
  readonly reason: string
  /** ISO 8601. */
  readonly at: string
  /** No call was answered since. */
  readonly isCurrent: boolean
}

type Percent = (ratio: number) => string

interface Served {
  readonly alias_of?: string
  readonly providers: readonly { readonly name: string; readonly healthy: boolean }[]
}

/** The requests of the account, by provider. */
interface Use {
  readonly key: string
  readonly requests: number
  readonly failed: number
  readonly hours?: readonly UptimeHour[] | undefined
}

interface OwnUse {
  /** Undefined where nothing is known of it. */
  readonly uses: readonly Use[] | undefined
  readonly percent: Percent
}

/** By name. */
export function healthFromModels(models: readonly Served[], { uses, percent }: OwnUse): readonly ProviderHealth[] {
  const entries = models.filter(({ alias_of: target }) => target === undefined).flatMap(({ providers }) => providers)
  return [...Map.groupBy(entries, ({ name }) => name)]
    .map(([name, all]) => {
      const use = uses?.find(({ key }) => key === name)
      const failed = use === undefined || use.requests === 0 ? 0 : use.failed / use.requests
      const paused = all.filter(({ healthy }) => !healthy).length
      const models = plural(all.length, 'model')
      const details = [
        paused === 0 ? models : `${paused} of ${models} paused`,
        ...(failed === 0 ? [] : [`${percent(failed)} of your requests failed`]),
      ]
      const status = paused === 0 && failed <= DEGRADED_SHARE ? 'healthy' : paused === all.length ? 'open' : 'degraded'
      return { name, status, detail: details.join(', '), hours: uses && (use?.hours ?? []) } as const
    })
    .toSorted(byName)
}

interface State {
  readonly name: string
  readonly status: 'healthy' | 'degraded' | 'down' | 'disabled'
  readonly problem: string | null
  readonly last_24h: {
    readonly calls: number
    readonly failures: number
    readonly last_failure: { readonly reason: string; readonly at: string } | null
    readonly hours: readonly { readonly at: string; readonly calls: number; readonly failures: number }[]
  }
  readonly deployments: readonly { readonly breaker: string }[]
  readonly credentials: readonly { readonly cooling: readonly unknown[] }[]
}

/** By name, over the last 24 hours. A provider without calls is neither healthy nor down. */
export function healthFromStates(states: readonly State[], percent: Percent): readonly ProviderHealth[] {
  return states
    .map((state) => {
      const { name, status, problem, last_24h: recent } = state
      const note = processText(state)
      const hours = recent.hours.map(({ at, calls, failures }) => ({ at, requests: calls, failed: failures }))
      if (status === 'disabled') return { name, status: 'unknown', detail: 'disabled', hours } as const
      if (recent.calls === 0 && status === 'healthy')
        return { name, status: 'unknown', detail: 'in the last 24 hours', note, hours } as const
      const { last_failure: failure } = recent
      const lastFailure = failure === null ? undefined : { ...failure, isCurrent: problem !== null }
      return { name, status, detail: countsText(recent, percent), note, lastFailure, hours }
    })
    .toSorted(byName)
}

/** `340 calls, 1.2% failed` */
function countsText({ calls, failures }: State['last_24h'], percent: Percent): string {
  return `${plural(calls, 'call')}, ${percent(calls === 0 ? 0 : failures / calls)} failed`
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
