import { parentPort } from 'node:worker_threads'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { PIECE_CHARACTERS, type TokenReply, type TokenRequest } from './token-counter.ts'

/**
 * Counts in pieces, because the tokenizer's time grows with the square of an unbroken run of letters. A piece ends at a
 * space if possible, so that no word is divided.
 */
function countInPieces(text: string): number {
  let tokens = 0
  for (let start = 0; start < text.length; ) {
    const end = pieceEnd(text, start)
    tokens += countTokens(text.slice(start, end), { disallowedSpecial: new Set() })
    start = end
  }
  return tokens
}

function pieceEnd(text: string, start: number): number {
  const end = start + PIECE_CHARACTERS
  if (end >= text.length) return text.length
  const space = text.lastIndexOf(' ', end)
  return space > start ? space : end
}

parentPort?.on('message', ({ id, text }: TokenRequest) => {
  parentPort?.postMessage({ id, tokens: countInPieces(text) } satisfies TokenReply)
})
