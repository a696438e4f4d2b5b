/** Which requests of an account have their prompt and answer stored: its settings. */
import type { KeyId, TeamId } from '../ids.ts'

/** The settings of an account. */
export interface CaptureSettings {
  readonly enabled: boolean
  /** IDs of API keys: only their requests, and those of the keys that they created. */
  readonly keys?: readonly string[] | undefined
  /** IDs of teams: only their requests. Without `keys` and `teams`: all requests of the account. */
  readonly teams?: readonly string[] | undefined
  /** Days that content is kept; undefined: as long as the operator allows. */
  readonly retentionDays?: number | undefined
}

/** @param text As the row of the account has it. */
export function captureSettings(text: string | null): CaptureSettings {
  return text === null ? { enabled: false } : (JSON.parse(text) as CaptureSettings)
}

/** Undefined unless some requests are captured, so that others cost nothing. @param text As the row of the account has it. */
export function activeCapture(text: string | null): CaptureSettings | undefined {
  if (text === null) return undefined
  const settings = captureSettings(text)
  return settings.enabled ? settings : undefined
}

interface CapturedCaller {
  readonly keyId: KeyId
  readonly teamId?: TeamId | undefined
  /** Keys above it. */
  readonly ancestors?: readonly { readonly keyId: KeyId }[] | undefined
}

export function isCaptured({ keys, teams }: CaptureSettings, { keyId, teamId, ancestors }: CapturedCaller): boolean {
  if (keys === undefined && teams === undefined) return true
  if (teamId !== undefined && teams?.includes(teamId) === true) return true
  return keys !== undefined && (keys.includes(keyId) || ancestors?.some((above) => keys.includes(above.keyId)) === true)
}
