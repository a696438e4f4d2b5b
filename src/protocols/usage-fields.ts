/** Parts of usage that every wire format has in some spelling: token counts, uses of tools, service tiers. */
import type { TokenField, Usage } from '../domain/chat.ts'
import { isRecord, type Json } from '../lib/json.ts'

export type MutableUsage = { -readonly [Name in keyof Usage]: Usage[Name] }

/** A count of tokens or uses; undefined for what is absent, negative or no whole number. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** Absent is not zero: the field is left out. */
export function put(usage: MutableUsage, field: TokenField, value: number | undefined): void {
  if (value !== undefined) usage[field] = value
}

/** For classes that most answers have none of: zero is left out too, so that those answers carry nothing more. */
export function putSome(usage: MutableUsage, field: TokenField, value: number | undefined): void {
  if (value !== undefined && value > 0) usage[field] = value
}

/** More than any provider has: usage is copied with every report of it. */
export const MAX_TOOL_NAMES = 64

/** The uses by the wire's names, of the first 64; undefined for what is no object. */
export function firstToolUses(wire: unknown): Json | undefined {
  if (!isRecord(wire)) return undefined
  const names = Object.keys(wire)
  if (names.length <= MAX_TOOL_NAMES) return wire
  return Object.fromEntries(names.slice(0, MAX_TOOL_NAMES).map((name) => [name, wire[name]]))
}

/** @param wire Uses by the wire's names. @param nameOf The name in prices of each; undefined: it is not counted. */
export function putToolUses(usage: MutableUsage, wire: unknown, nameOf: (name: string) => string | undefined): void {
  for (const [name, value] of Object.entries(firstToolUses(wire) ?? {})) {
    const uses = count(value)
    const tool = nameOf(name)
    if (uses === undefined || uses === 0 || tool === undefined) continue
    usage.serverToolUses = { ...usage.serverToolUses, [tool]: (usage.serverToolUses?.[tool] ?? 0) + uses }
  }
}

/** What providers call the service that costs the price itself. */
const STANDARD_TIERS: ReadonlySet<string> = new Set(['', 'default', 'standard', 'on_demand', 'auto', 'unspecified'])
const LONGEST_TIER = 64

/** In lower case; undefined for the standard service, and for what is no name. */
export function serviceTierOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > LONGEST_TIER) return undefined
  const name = value.toLowerCase()
  return STANDARD_TIERS.has(name) ? undefined : name
}
