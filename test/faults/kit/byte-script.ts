/**
 * What a fake provider does on a connection, byte for byte. A script is a list of steps and a step is plain data, so that
 * a script can be made from a seed and printed. `openai-script.ts` has the steps of an OpenAI-compatible answer.
 */

/** How the end of a body is told: by chunks, by its length (bytes), or by the end of the connection. */
export type Framing = 'chunked' | 'close' | number

export type Step =
  | { readonly do: 'send'; readonly bytes: string | Uint8Array }
  | {
      readonly do: 'head'
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly framing: Framing
    }
  | { readonly do: 'body'; readonly bytes: string | Uint8Array }
  | { readonly do: 'end' }
  | { readonly do: 'bill'; readonly tokens: number; readonly promptTokens: number | undefined }
  | { readonly do: 'delay'; readonly ms: number }
  | { readonly do: 'split'; readonly sizes: readonly number[] }
  | { readonly do: 'stall' }
  | { readonly do: 'fin' }
  | { readonly do: 'rst' }
  | { readonly do: 'stop-reading' }
  | { readonly do: 'await-read' }
  | { readonly do: 'await-request' }
  | { readonly do: 'repeat'; readonly times: number; readonly steps: Script }

export type Script = readonly Step[]

/** These bytes as they are, outside any body: a status line that is none, half a head. */
export const send = (bytes: string | Uint8Array): Step => ({ do: 'send', bytes })

/** Status line and headers; chunked unless `framing` says otherwise. */
export function head(
  status: number,
  headers: Readonly<Record<string, string>> = {},
  framing: Framing = 'chunked',
): Step {
  return { do: 'head', status, headers, framing }
}

/** A piece of the body: one chunk of a chunked one. */
export const body = (bytes: string | Uint8Array): Step => ({ do: 'body', bytes })

/** One event of an event stream; an object as JSON. */
export function sse(data: string | object): Step {
  return body(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
}

/** The body's proper end; the connection is kept, unless its end is the body's. */
export const end: Step = { do: 'end' }

/** So many tokens have been generated from here on. Comes before the bytes that carry them: what was generated is owed. */
export const bill = (tokens: number, promptTokens?: number): Step => ({ do: 'bill', tokens, promptTokens })

export const delay = (ms: number): Step => ({ do: 'delay', ms })

/**
 * From here on everything goes out in pieces of these sizes, over and over, each a write of its own. The kernel may join
 * what follows closely: the reader sees cuts at some of these places, and at no others.
 */
export const split = (...sizes: readonly number[]): Step => ({ do: 'split', sizes })

/** Nothing more, until the other side ends the connection. */
export const stall: Step = { do: 'stall' }

/** Ends the connection in order, wherever the body is. */
export const fin: Step = { do: 'fin' }

/** Breaks the connection off. */
export const rst: Step = { do: 'rst' }

/** Reads nothing more from the connection: what the other side still sends fills its buffers. */
export const stopReading: Step = { do: 'stop-reading' }

/** Waits until the other side has read what was sent: a reset makes the kernel throw away what it has not. */
export const awaitRead: Step = { do: 'await-read' }

/** Waits for the next whole request: in scripts of a connection, which begin without one. */
export const awaitRequest: Step = { do: 'await-request' }

export const repeat = (times: number, ...steps: Script): Step => ({ do: 'repeat', times, steps })

/** Bytes that are no text of anything, the same for the same seed. */
export function garbage(length: number, seed = 1): Uint8Array {
  let state = seed >>> 0
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 24
  })
}
