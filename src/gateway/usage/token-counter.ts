/**
 * Counts tokens of text that no provider counted, on a separate thread, because a tokenizer may take long and a stream
 * must not wait for it. The thread starts with the first text.
 */
import { Worker } from 'node:worker_threads'

/** The UTF-16 units that the tokenizer receives at once. */
export const PIECE_CHARACTERS = 4096
/** Longer texts are counted by their beginning and extrapolated. */
export const MAX_COUNTED_CHARACTERS = 1024 * 1024

/** The most waiting texts. Beyond it, prompts are not counted exactly. */
const MAX_WAITING_COUNTS = 64

export interface TokenRequest {
  readonly id: number
  readonly text: string
}
export interface TokenReply {
  readonly id: number
  readonly tokens: number
}

export interface TokenCounter {
  /** Never rejects: without a tokenizer, four characters count as one token. */
  count(text: string): Promise<number>
  /**
   * Returns the tokens of the whole `text`, or a number above `enough` once its beginning has more. Undefined if they
   * cannot be counted, or not in time. Without `enough`, longer texts than `MAX_COUNTED_CHARACTERS` are not. Never rejects.
   */
  countWhole(text: string, timeoutMs: number, enough?: number): Promise<number | undefined>
  close(): Promise<void>
}

export function createTokenCounter(): TokenCounter {
  const waiting = new Map<number, (tokens: number | undefined) => void>()
  let worker: Worker | undefined
  let lastId = 0

  function giveUp(): void {
    worker = undefined
    for (const resolve of waiting.values()) resolve(undefined)
    waiting.clear()
  }

  function start(): Worker {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    const started = new Worker(new URL(`./token-worker.${extension}`, import.meta.url))
    started.unref()
    started.on('message', ({ id, tokens }: TokenReply) => {
      waiting.get(id)?.(tokens)
      waiting.delete(id)
    })
    started.once('error', giveUp)
    started.once('exit', giveUp)
    return started
  }

  function post(text: string): Promise<number | undefined> {
    worker ??= start()
    const id = ++lastId
    const { promise, resolve } = Promise.withResolvers<number | undefined>()
    waiting.set(id, resolve)
    worker.postMessage({ id, text } satisfies TokenRequest)
    return promise
  }

  return {
    async count(text) {
      if (text === '') return 0
      const counted = text.slice(0, MAX_COUNTED_CHARACTERS)
      const tokens = (await post(counted)) ?? counted.length / 4
      return Math.ceil((tokens * text.length) / counted.length)
    },
    async countWhole(text, timeoutMs, enough) {
      if (waiting.size >= MAX_WAITING_COUNTS) return undefined
      if (enough === undefined && text.length > MAX_COUNTED_CHARACTERS) return undefined
      const late = Promise.withResolvers<undefined>()
      const timer = setTimeout(() => late.resolve(undefined), timeoutMs)
      try {
        return await sumUntil(enough, text, (piece) => Promise.race([post(piece), late.promise]))
      } finally {
        clearTimeout(timer)
      }
    },
    async close() {
      await worker?.terminate()
    },
  }
}

async function sumUntil(
  enough: number | undefined,
  text: string,
  count: (piece: string) => Promise<number | undefined>,
): Promise<number | undefined> {
  let tokens = 0
  for (let at = 0; at < text.length && tokens <= (enough ?? Number.POSITIVE_INFINITY); at += MAX_COUNTED_CHARACTERS) {
    const counted = await count(text.slice(at, at + MAX_COUNTED_CHARACTERS))
    if (counted === undefined) return undefined
    tokens += counted
  }
  return tokens
}
