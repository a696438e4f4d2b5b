/** Amounts as people type them, where not a nano-dollar may get lost. */
import { decimalText, toNano } from '../../../lib/money.ts'

export interface ReadUsd {
  /** Undefined: nothing was typed, or there is a problem. */
  readonly usd: number | undefined
  readonly problem: string | undefined
}

const MAX_USD = 100_000_000

/** Above zero, at most 9 decimals; separators of thousands and a leading `$` do not matter. Never throws. */
export function readUsd(text: string): ReadUsd {
  const plain = text.replaceAll(/[\s,]/g, '').replace(/^\$/, '')
  if (plain === '') return { usd: undefined, problem: undefined }
  if (!/^(\d+\.?\d*|\.\d+)$/.test(plain)) return refuse('Enter an amount, such as 25 or 0.50.')
  const [whole = '', fraction = ''] = plain.split('.')
  if (fraction.replace(/0+$/, '').length > 9) return refuse('Enter at most 9 decimals.')
  const usd = Number(plain)
  if (usd === 0) return refuse('Enter more than 0.')
  if (usd > MAX_USD) return refuse('Enter $100,000,000 or less.')
  // JSON carries 15 digits for sure: what it would round is not sent.
  const typed = `${whole.replace(/^0+(?=\d)/, '') || '0'}.${fraction.slice(0, 9).padEnd(9, '0')}`
  return decimalText(toNano(usd)) === typed ? { usd, problem: undefined } : refuse('Enter fewer digits.')
}

function refuse(problem: string): ReadUsd {
  return { usd: undefined, problem }
}
