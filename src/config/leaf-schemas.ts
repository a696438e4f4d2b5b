/**
 * Schemas of single values. `format` names a check of `validate.ts`; messages never show values that are `writeOnly`.
 */
import { type TProperties, Type } from 'typebox'

/** The longest delay that a timer of Node.js can wait. */
const LONGEST_DELAY_MS = 2_147_483_647
/** Fees are numbers of nano-dollars, which are exact up to this amount. */
const MOST_FEE_USD = 1_000_000

/** Rejects unknown names. */
export function section<Properties extends TProperties>(
  properties: Properties,
  options: { description: string; default?: object },
) {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

/** An optional section; its defaults apply without it. */
export function defaultedSection<Properties extends TProperties>(
  properties: Properties,
  options: { description: string },
) {
  return section(properties, { default: {}, ...options })
}

export function text(description: string, format = 'text') {
  return Type.String({ description, format })
}

export function secret(description: string, format = 'credential') {
  return Type.String({ description, format, writeOnly: true })
}

export function milliseconds(description: string, standard: number, minimum = 0) {
  return Type.Integer({ description, minimum, maximum: LONGEST_DELAY_MS, default: standard })
}

export function count(description: string, limits: { minimum?: number; maximum?: number; default?: number } = {}) {
  return Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, ...limits, description })
}

export function port(description: string, options: { default?: number } = {}) {
  return Type.Integer({ minimum: 0, maximum: 65_535, ...options, description })
}

/** Dollars: not negative, at most 6 decimals. */
export function usd(description: string, options: { default?: number } = {}) {
  return Type.Number({ minimum: 0, format: 'usd', ...options, description })
}

/** Dollars of a single fee: at most 9 decimals. */
export function fee(description: string) {
  return Type.Number({ minimum: 0, maximum: MOST_FEE_USD, format: 'fee', description })
}

export function flag(description: string, standard: boolean) {
  return Type.Boolean({ description, default: standard })
}
