/** Parts of usage that every wire format has under some name: token counts, uses of tools, service tiers. */
import type { TokenField, Usage } from '../domain/chat.ts'
import { isRecord, type Json } from '../lib/json.ts'

export type MutableUsage = { -readonly [Name in keyof Usage]: Usage[Name] }

/** Reads a count of tokens or uses; undefined if it is absent, negative or not a whole number. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** Omits an absent field, which is not zero. */
export function put(usage: MutableUsage, field: TokenField, value: number | undefined): void {
  if (value !== undefined) usage[field] = value
}

/** Omits zero as well: for token classes that most answers lack. */
export function putSome(usage: MutableUsage, field: TokenField, value: number | undefined): void {
  if (value !== undefined && value > 0) usage[field] = value
}

/**
 * The names of tools, more than any provider has. Their number is limited because usage is copied with every report.
 */
const MAX_TOOL_NAMES = 64

/** Returns the first 64 uses by the wire's names; undefined for other values than objects. */
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

/** Providers' names of the service at the standard price. */
const STANDARD_TIERS: ReadonlySet<string> = new Set(['', 'default', 'standard', 'on_demand', 'auto', 'unspecified'])
const LONGEST_TIER = 64

/** Returns the tier in lower case; undefined for the standard service and invalid values. */
export function serviceTierOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > LONGEST_TIER) return undefined
  const name = value.toLowerCase()
  return STANDARD_TIERS.has(name) ? undefined : name
}
