/** Numbers as people read them: US English, units always, a dash where there is no number. */
import { decimalText, toNano } from './money.ts'

/** Stands for a number that is not known. */
export const DASH = '—'
const MINUS = '−'
const NANO_PER_CENT = 10_000_000n
const LOCALE = 'en-US'

const whole = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 })
const compact = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 })

/** With the typographic minus, and never as a negative zero. */
function signed(isNegative: boolean, text: string): string {
  return isNegative && /[1-9]/.test(text) ? `${MINUS}${text}` : text
}

function withNumber(value: number, write: (magnitude: number) => string): string {
  if (!Number.isFinite(value)) return DASH
  return signed(value < 0, write(Math.abs(value)))
}

/**
 * To the cent, halves away from zero, `$1,234.56`; below a cent the two digits that say something, `$0.0042`. The exact
 * amount belongs nearby.
 */
export function formatUsd(usd: number): string {
  const size = Math.abs(usd)
  if (size > 0 && size < 0.01) return formatExactUsd(Number(usd.toPrecision(2)))
  if (!Number.isFinite(usd)) return DASH
  return signed(usd < 0, dollars(((toNano(size) + NANO_PER_CENT / 2n) / NANO_PER_CENT) * NANO_PER_CENT))
}

/** To the cent, `$1,234.56`, and `< $0.01` below: for legends. */
export function formatUsdBriefly(usd: number): string {
  return usd > 0 && usd < 0.01 ? '< $0.01' : formatUsd(usd)
}

/** Every digit that the amount has, at least two and at most nine decimals: `$0.0007895`. */
export function formatExactUsd(usd: number): string {
  return Number.isFinite(usd) ? signed(usd < 0, dollars(toNano(Math.abs(usd)))) : DASH
}

/** `$1,234.50`: two decimals, more only where they say something. */
function dollars(nano: bigint): string {
  const [units = '0', fraction = ''] = decimalText(nano).split('.')
  return `$${whole.format(BigInt(units))}.${fraction.slice(0, 2)}${fraction.slice(2).replace(/0+$/, '')}`
}

/** A price per million tokens, `$2.50`; a dash for one that is not known. */
export function formatPrice(usdPerMillion: number | null): string {
  return usdPerMillion === null ? DASH : formatExactUsd(usdPerMillion)
}

/** `12,345` */
export function formatCount(count: number): string {
  return withNumber(count, (magnitude) => whole.format(magnitude))
}

/** `840`, `12.3K`, `4.5M`: for axes and chips; the exact count belongs nearby. */
export function formatCompact(count: number): string {
  return withNumber(count, (magnitude) => compact.format(magnitude))
}

/** `0.1234` is `12.3%`, `1` is `100%`. @param digits Decimals at most. */
export function formatPercent(ratio: number, digits = 1): string {
  return withNumber(ratio, (magnitude) =>
    new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: digits }).format(magnitude),
  )
}

/** Of what succeeded, 0 to 1: `100%` is for those without a failure. */
export function formatSuccess(rate: number): string {
  return formatPercent(rate < 1 ? Math.min(rate, 0.999) : rate)
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A duration in its two largest units: `840 ms`, `2.1 s`, `3 min 4 s`, `2 h 5 min`, `4 d 3 h`. */
export function formatMs(ms: number): string {
  return withNumber(ms, duration)
}

function duration(ms: number): string {
  if (ms > 0 && ms < 1) return '< 1 ms'
  if (Math.round(ms) < SECOND) return `${Math.round(ms)} ms`
  if (Math.round(ms / 100) * 100 < MINUTE) return `${Math.round(ms / 100) / 10} s`
  if (Math.round(ms / SECOND) * SECOND < HOUR) return inTwoUnits(ms, [MINUTE, 'min'], [SECOND, 's'])
  if (Math.round(ms / MINUTE) * MINUTE < DAY) return inTwoUnits(ms, [HOUR, 'h'], [MINUTE, 'min'])
  return inTwoUnits(ms, [DAY, 'd'], [HOUR, 'h'])
}

type Unit = readonly [ms: number, name: string]

function inTwoUnits(ms: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rounded = Math.round(ms / small) * small
  const first = `${whole.format(Math.floor(rounded / large))} ${largeName}`
  const rest = (rounded % large) / small
  return rest === 0 ? first : `${first} ${rest} ${smallName}`
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** `512 B`, `1.5 KiB`, `8 MiB`: powers of 1024, one decimal at most. */
export function formatBytes(bytes: number): string {
  return withNumber(bytes, (magnitude) => {
    const power = BYTE_UNITS.findIndex((_, index) => rounded(magnitude / 1024 ** index, index) < 1024)
    const index = power === -1 ? BYTE_UNITS.length - 1 : power
    return `${rounded(magnitude / 1024 ** index, index).toLocaleString(LOCALE)} ${BYTE_UNITS[index]}`
  })
}

function rounded(value: number, power: number): number {
  return power === 0 ? Math.round(value) : Math.round(value * 10) / 10
}

/** `1 request`, `2 requests`, `2 entries`. @param several For words whose plural is made in another way. */
export function plural(count: number, one: string, several = pluralOf(one)): string {
  return `${formatCount(count)} ${count === 1 ? one : several}`
}

function pluralOf(one: string): string {
  return /[^aeiou]y$/.test(one) ? `${one.slice(0, -1)}ies` : `${one}s`
}
