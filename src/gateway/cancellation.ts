/** Tracks whether a request may continue: its client can disconnect, and the gateway can interrupt it. */
import type { GatewayError } from '../domain/errors.ts'

/** Only this file, and `disconnect` and `interrupt` of completion.ts, assign these fields. */
export interface Cancellation {
  /** The client has disconnected: nothing more is written to it. */
  disconnected: boolean
  /** The client has disconnected and no repeat of its request waits for the answer. */
  abandoned: boolean
  /** The reason if the gateway itself ends the request early. */
  interruption: GatewayError | undefined
  /** Ends the current wait of the request, unless it waits for a provider. */
  wake: (() => void) | undefined
  /** Ends a call that is drained after the client disconnected. */
  drain: NodeJS.Timeout | undefined
}

export function createCancellation(): Cancellation {
  return { disconnected: false, abandoned: false, interruption: undefined, wake: undefined, drain: undefined }
}

/** Returns whether the request may start nothing new. */
export function isCancelled({ abandoned, interruption }: Cancellation): boolean {
  return abandoned || interruption !== undefined
}

/** Waits for the given time or until the request is cancelled. */
export function pause(cancellation: Cancellation, milliseconds: number): Promise<void> {
  if (isCancelled(cancellation)) return Promise.resolve()
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      cancellation.wake = undefined
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    cancellation.wake = end
  })
}

/** Resolves with the result of `pending`, or with undefined as soon as the request is cancelled. */
export async function unlessCancelled<T>(cancellation: Cancellation, pending: Promise<T>): Promise<T | undefined> {
  if (isCancelled(cancellation)) return undefined
  const cancelled = Promise.withResolvers<undefined>()
  const wake = (): void => cancelled.resolve(undefined)
  return await withWake(cancellation, wake, () => Promise.race([pending, cancelled.promise]))
}

/** Runs `wait`. A cancellation in the meantime calls `wake`. */
export async function withWake<T>(cancellation: Cancellation, wake: () => void, wait: () => Promise<T>): Promise<T> {
  cancellation.wake = wake
  try {
    return await wait()
  } finally {
    cancellation.wake = undefined
  }
}
