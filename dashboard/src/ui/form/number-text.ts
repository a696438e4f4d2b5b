/** Numbers as people type them into a field. */

export interface NumberBounds {
  readonly min?: number | undefined
  readonly max?: number | undefined
  readonly whole?: boolean | undefined
}

export interface ReadNumber {
  /** Undefined: nothing was typed, or there is a problem. */
  readonly value: number | undefined
  /** What to tell who typed it. */
  readonly problem: string | undefined
}

/** Spaces and thousands separators do not matter; the decimal sign is the point. Never throws. */
export function readNumber(text: string, { min, max, whole = false }: NumberBounds): ReadNumber {
  const plain = text.replaceAll(/[\s,]/g, '')
  if (plain === '') return { value: undefined, problem: undefined }
  const value = /^[+-]?(\d+\.?\d*|\.\d+)$/.test(plain) ? Number(plain) : Number.NaN
  if (!Number.isFinite(value)) return refuse('Enter a number.')
  if (whole && !Number.isSafeInteger(value)) return refuse('Enter a whole number.')
  if (min !== undefined && value < min) return refuse(`Enter ${textOfNumber(min)} or more.`)
  if (max !== undefined && value > max) return refuse(`Enter ${textOfNumber(max)} or less.`)
  return { value, problem: undefined }
}

/** Digits alone, never an exponent: what `readNumber` reads back as the same number. */
export function textOfNumber(value: number | undefined): string {
  if (value === undefined) return ''
  const text = String(value)
  if (!text.includes('e')) return text
  return value.toLocaleString('en-US', { useGrouping: false, maximumFractionDigits: 20 })
}

function refuse(problem: string): ReadNumber {
  return { value: undefined, problem }
}
