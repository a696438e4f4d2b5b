/** Tests of providers: one at a time for each, and what they come to in words. */
import type { ProviderProbe } from '../../domain/provider-probe.ts'

/** Longer than this nobody waits for a provider's answer, in milliseconds. */
export const LONGEST_TRIAL_MS = 10_000

export interface TrialInput {
  /** Calls the provider of that name once; undefined: there is none. Never rejects. */
  readonly probe: (name: string, waitMs: number) => Promise<ProviderProbe> | undefined
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly waitMs?: number
}

export interface Trial {
  readonly ok: boolean
  readonly durationMs: number
  /** Undefined: there was no answer. */
  readonly status: number | undefined
  /** A sentence for people. */
  readonly message: string
}

/** Tests a provider; whoever asks while that goes on gets the same answer. Undefined: there is no such provider. */
export type TryProvider = (name: string) => Promise<Trial> | undefined

export function createTrials({ probe, clock, waitMs = LONGEST_TRIAL_MS }: TrialInput): TryProvider {
  const running = new Map<string, Promise<Trial>>()
  return (name) => {
    const same = running.get(name)
    if (same !== undefined) return same
    const begun = clock()
    const trial = probe(name, waitMs)
      ?.then((outcome) => ({ ...tell(outcome, { name, waitMs }), durationMs: Math.round(clock() - begun) }))
      .finally(() => running.delete(name))
    if (trial !== undefined) running.set(name, trial)
    return trial
  }
}

interface Told {
  readonly name: string
  readonly waitMs: number
}

function tell(probe: ProviderProbe, { name, waitMs }: Told): Omit<Trial, 'durationMs'> {
  const status = 'status' in probe ? probe.status : undefined
  const isWell = probe.kind === 'answered' || probe.kind === 'built_in'
  return { ok: isWell, status, message: messageOf(probe, { name, waitMs }) }
}

function messageOf(probe: ProviderProbe, { name, waitMs }: Told): string {
  switch (probe.kind) {
    case 'built_in':
      return 'It is built in: there is nobody to call.'
    case 'no_key':
      return `It has no key: set ${probe.variable}, or providers.${name}.api_key.`
    case 'no_credential':
      return 'No credential for it could be had: check the file or the identity of the machine that it comes from.'
    case 'answered':
      return answered(probe.status)
    case 'refused':
      return `It did not accept the key (status ${probe.status}): check providers.${name}.api_key.`
    case 'limited':
      return `It is there, and limits requests at the moment: status ${probe.status}.`
    case 'failing':
      return `It answered with status ${probe.status}: something is wrong on its side.`
    case 'silent':
      return `It did not answer within ${waitMs / 1000} s.`
    case 'unreachable':
      return `It could not be reached (${probe.reason}): check providers.${name}.base_url and the network between.`
  }
}

/** Some hosts have no list of models, and then no more is known than that somebody is there. */
function answered(status: number): string {
  if (status >= 200 && status < 300) return 'It answered, and did not refuse the key.'
  return `It answered with status ${status}, which does not tell whether it accepts the key.`
}
