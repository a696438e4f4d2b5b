import type { BrowserSession } from '../../domain/sign-in.ts'

const FRESH_MS = 12 * 60 * 60_000

/** Whether somebody showed who they are not long ago: what lets others in asks for more than a browser left open. */
export function isFresh({ signedInAt }: BrowserSession, now: number): boolean {
  return now - signedInAt < FRESH_MS
}
