/**
 * Counts tokens of text that no provider counted, on a thread of its own: a tokenizer may take long, and a stream
 * must not wait for it. The thread starts with the first question.
 */
import { Worker } from 'node:worker_threads'

/** UTF-16 units given to the tokenizer at once. */
export const PIECE_CHARACTERS = 4096
/** Longer texts are counted by their beginning, in proportion. */
export const MAX_COUNTED_CHARACTERS = 1024 * 1024

export interface TokenQuestion {
  readonly id: number
  readonly text: string
}
export interface TokenAnswer {
  readonly id: number
  readonly tokens: number
}

export interface TokenCounter {
  /** Never rejects: without a tokenizer, four characters count as one token. */
  count(text: string): Promise<number>
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
    started.on('message', ({ id, tokens }: TokenAnswer) => {
      waiting.get(id)?.(tokens)
      waiting.delete(id)
    })
    started.once('error', giveUp)
    started.once('exit', giveUp)
    return started
  }

  return {
    async count(text) {
      if (text === '') return 0
      const counted = text.slice(0, MAX_COUNTED_CHARACTERS)
      worker ??= start()
      const id = ++lastId
      const { promise, resolve } = Promise.withResolvers<number | undefined>()
      waiting.set(id, resolve)
      worker.postMessage({ id, text: counted } satisfies TokenQuestion)
      const tokens = (await promise) ?? counted.length / 4
      return Math.ceil((tokens * text.length) / counted.length)
    },
    async close() {
      await worker?.terminate()
    },
  }
}
