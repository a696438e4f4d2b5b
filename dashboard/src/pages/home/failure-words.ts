/** Why a request failed, in a few words, from its last call to a provider. */

interface Attempt {
  readonly provider: string
  readonly outcome: string
  readonly status: number | null
}

const WORDS: Readonly<Record<string, string>> = {
  answered: 'the answer broke off',
  abandoned: 'was ended before an answer',
  rejected: 'refused the request',
  credentials: 'refused our credentials',
  quota: 'is out of quota',
  rate_limited: 'limited the rate',
  not_found: 'does not know the model',
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
