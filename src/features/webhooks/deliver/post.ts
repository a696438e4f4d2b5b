/**
 * One POST to an endpoint and what came of it: a single deadline over name, connection, head and body; a bounded answer;
 * no redirects, no decompression. Knows nothing of what is made of it.
 */
import type { Dispatcher } from 'undici'
import { carriable } from '../../../jobs/lists.ts'
import { attemptFailure, DeadlineError } from './failure.ts'

/** Of connection, head and body together. */
export const DEADLINE_MS = 10_000
/** Of an answer's body so much is read; then the connection is closed. */
export const READ_BYTES = 20_000
/** And so much of it is kept. */
export const KEPT_BYTES = 4_096

export interface Outgoing {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** What came of it. */
export interface Answer {
  /** Undefined: there was none. */
  readonly status: number | undefined
  /** Undefined: it is a success. */
  readonly error: string | undefined
  /** The beginning of the body; undefined without an answer. */
  readonly text: string | undefined
}

export interface PostOptions {
  /** Aborted: nothing is sent that is not yet on its way, and an answer is waited for no longer. */
  readonly signal: AbortSignal
  readonly deadlineMs: number
}

/** Rejects with the signal's reason, and with what is neither the receiver's doing nor the network's. */
export function post(dispatcher: Dispatcher, outgoing: Outgoing, options: PostOptions): Promise<Answer> {
  const { signal, deadlineMs } = options
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const exchange = createExchange(resolve, reject)
  const interrupt = (): void => exchange.end(signal.reason)
  const deadline = setTimeout(() => exchange.end(new DeadlineError('The answer was not complete in time.')), deadlineMs)
  signal.addEventListener('abort', interrupt)
  if (signal.aborted) interrupt()
  else send(dispatcher, outgoing, exchange)
  return promise.finally(() => {
    clearTimeout(deadline)
    signal.removeEventListener('abort', interrupt)
  })
}

function send(dispatcher: Dispatcher, { url, headers, body }: Outgoing, { handler, end }: Exchange): void {
  const { origin, pathname, search } = url
  try {
    dispatcher.dispatch({ origin, path: pathname + search, method: 'POST', headers, body }, handler)
  } catch (error) {
    end(error)
  }
}

interface Exchange {
  readonly handler: Dispatcher.DispatchHandler
  /** For a reason of ours. */
  end(reason: unknown): void
}

function createExchange(resolve: (answer: Answer) => void, reject: (error: unknown) => void): Exchange {
  let controller: Dispatcher.DispatchController | undefined
  let stopped: Error | undefined
  let status: number | undefined
  let read = 0
  const kept: Uint8Array[] = []
  const succeed = (): void => resolve({ status, error: failureOf(status), text: textOf(kept) })
  const fail = (error: unknown): void => {
    const text = attemptFailure(error)
    if (text === undefined) reject(error)
    else resolve({ status, error: text, text: status === undefined ? undefined : textOf(kept) })
  }
  const stop = (reason: unknown): void => {
    stopped = reason instanceof Error ? reason : new Error(String(reason))
    controller?.abort(stopped)
  }
  return {
    end(reason) {
      fail(reason)
      stop(reason)
    },
    handler: {
      onRequestStart(given) {
        controller = given
        if (stopped !== undefined) given.abort(stopped) // before a byte of it is written
      },
      onResponseStart(_controller, code) {
        if (code >= 200) status = code // what comes before it only says that it is to come
      },
      onResponseData(_controller, chunk) {
        if (read < KEPT_BYTES) kept.push(Uint8Array.from(chunk.subarray(0, KEPT_BYTES - read)))
        read += chunk.length
        if (read <= READ_BYTES) return
        succeed()
        stop(new Error('The answer is longer than what is read of it.'))
      },
      onResponseEnd: succeed,
      onResponseError: (_controller, error) => fail(error),
    },
  }
}

function failureOf(status = 0): string | undefined {
  if (status >= 200 && status < 300) return undefined
  return status >= 300 && status < 400 ? 'redirect' : `status ${status}`
}

/** A character that is cut by the end is left out. */
function textOf(pieces: readonly Uint8Array[]): string {
  return carriable(new TextDecoder().decode(Buffer.concat(pieces), { stream: true }))
}
