/** What one process waits for at a provider: it changes nothing about the provider's health, which is of all processes. */
import { plural } from './format.ts'

interface ProcessState {
  readonly deployments: readonly { readonly breaker: string }[]
  readonly credentials: readonly { readonly cooling: readonly unknown[] }[]
}

/** `This process: 1 of 3 models paused, 1 of 2 credentials cooling down`; undefined where it waits for nothing. */
export function processText({ deployments, credentials }: ProcessState): string | undefined {
  const paused = deployments.filter(({ breaker }) => breaker !== 'closed').length
  const cooling = credentials.filter(({ cooling: models }) => models.length > 0).length
  const waits = [
    ...(paused === 0 ? [] : [`${paused} of ${plural(deployments.length, 'model')} paused`]),
    ...(cooling === 0 ? [] : [`${cooling} of ${plural(credentials.length, 'credential')} cooling down`]),
  ]
  return waits.length === 0 ? undefined : `This process: ${waits.join(', ')}`
}
