/** The settings of an account for content capture: the requests of which prompt and answer are stored. */
import type { KeyId, TeamId } from '../ids.ts'

export interface CaptureSettings {
  readonly enabled: boolean
  /** IDs of API keys: only their requests, and those of the keys that they created. */
  readonly keys?: readonly string[] | undefined
  /** IDs of teams: only their requests. Without `keys` and `teams`: all requests of the account. */
  readonly teams?: readonly string[] | undefined
  /** The days for which content is kept. Undefined for the operator's limit. */
  readonly retentionDays?: number | undefined
}

/** Parses the settings. @param text The column of the account. */
export function captureSettings(text: string | null): CaptureSettings {
  return text === null ? { enabled: false } : (JSON.parse(text) as CaptureSettings)
}

/** Undefined if no request is captured, so that requests pay nothing for it. @param text The column of the account. */
export function activeCapture(text: string | null): CaptureSettings | undefined {
  if (text === null) return undefined
  const settings = captureSettings(text)
  return settings.enabled ? settings : undefined
}

interface CapturedCaller {
  readonly keyId: KeyId
  readonly teamId?: TeamId | undefined
  /** The keys that created this one, directly or indirectly. */
  readonly ancestors?: readonly { readonly keyId: KeyId }[] | undefined
}

export function isCaptured({ keys, teams }: CaptureSettings, { keyId, teamId, ancestors }: CapturedCaller): boolean {
  if (keys === undefined && teams === undefined) return true
  if (teamId !== undefined && teams?.includes(teamId) === true) return true
  return keys !== undefined && (keys.includes(keyId) || ancestors?.some((above) => keys.includes(above.keyId)) === true)
}
