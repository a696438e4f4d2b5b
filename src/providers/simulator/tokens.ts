/** Words of up to eight letters or digits and single other characters, each with the white space before it. */
const PIECE = /\s*(?:[\p{L}\p{N}_]{1,8}|[^\s\p{L}\p{N}_])|\s+/gu
/** Beyond this many characters of one text, four characters count as a token: counting must stay cheap. */
const COUNTED_CHARACTERS = 16_384

/** The simulator's tokens of a text. Together they are the text. */
export function tokensOf(text: string): string[] {
  return text.match(PIECE) ?? []
}

export function countTokens(text: string): number {
  const rest = Math.max(0, text.length - COUNTED_CHARACTERS)
  return tokensOf(text.slice(0, COUNTED_CHARACTERS)).length + Math.ceil(rest / 4)
}
