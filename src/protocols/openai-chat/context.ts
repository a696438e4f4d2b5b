/**
 * Reasoning in the pieces in which routers give it (`reasoning_details`: text with its signature, summaries, encrypted
 * data). A follow-up needs them back as they were, and the format has no field for them, so they travel in the
 * message's `provider_context`.
 *
 * Source: https://openrouter.ai/docs/use-cases/reasoning-tokens, read 2026-11-20.
 */
import { isRecord, type Json } from '../../lib/json.ts'

/** The key of this protocol in `provider_context`. */
const KEY = 'openai-chat'
/** Fields that come piece by piece in a stream; the others come whole. */
const PIECEWISE = ['text', 'summary'] as const

/** A message's or delta's details; those that are none are left out. */
export function detailsIn(message: Json): readonly Json[] {
  const { reasoning_details: details } = message
  return Array.isArray(details) ? details.filter(isRecord) : []
}

/** The value of `provider_context`. Each detail says its `index`, which clients that join deltas insist on. */
export function contextOf(details: readonly Json[]): Json {
  const indexed = details.map((detail, index) => (Number.isInteger(detail.index) ? detail : { ...detail, index }))
  return { [KEY]: { reasoning_details: indexed } }
}

/** @param context `provider_context` of a client's message, in which anything may be. */
export function detailsOf(context: unknown): readonly Json[] {
  const ours = isRecord(context) ? context[KEY] : undefined
  return isRecord(ours) ? detailsIn(ours) : []
}

/** Appends a piece of a stream to what came before, or continues it. */
export function addDetail(gathered: Json[], piece: Json): void {
  const at = gathered.findLastIndex(({ index, type }) => index === piece.index && type === piece.type)
  const earlier = gathered[at]
  if (earlier === undefined || !PIECEWISE.some((field) => field in earlier)) gathered.push(piece)
  else gathered[at] = joined(earlier, piece)
}

function joined(earlier: Json, piece: Json): Json {
  const all: Record<string, unknown> = { ...earlier }
  for (const [field, value] of Object.entries(piece)) if (value !== null) all[field] = value
  for (const field of PIECEWISE) {
    if (typeof earlier[field] === 'string' && typeof piece[field] === 'string')
      all[field] = earlier[field] + piece[field]
  }
  return all
}
