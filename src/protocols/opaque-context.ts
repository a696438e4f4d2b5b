/**
 * Contexts of providers as one opaque text, for clients whose API has a field for such data but none for
 * `provider_context`: encrypted reasoning items, redacted thinking. Texts from clients are untrusted.
 */
import { checkJsonBytes } from '../domain/json-body.ts'
import { isRecord, type Json, parseJson } from '../lib/json.ts'

/** Distinguishes these texts from those of providers. */
const PREFIX = 'turnpike_context_1_'
/**
 * The bytes of the JSON text. Larger contexts are not returned, because clients would have to send them with each
 * request.
 */
export const MAX_OPAQUE_CONTEXT_BYTES = 4 * 1024 * 1024

/**
 * @param context A value of `provider_context`: `{protocol: context}`.
 * @returns undefined for one that is too large.
 */
export function encodeContext(context: Json): string | undefined {
  const bytes = Buffer.from(JSON.stringify(context))
  return bytes.length > MAX_OPAQUE_CONTEXT_BYTES ? undefined : PREFIX + bytes.toString('base64url')
}

/** Returns whether the text claims to be a context of the gateway, which no provider must receive. */
export function isOpaqueContext(text: string): boolean {
  return text.startsWith(PREFIX)
}

/** @returns undefined for any text that `encodeContext` would not return. */
export function decodeContext(text: string): Json | undefined {
  if (!isOpaqueContext(text)) return undefined
  const encoded = text.slice(PREFIX.length)
  if (encoded.length > Math.ceil((MAX_OPAQUE_CONTEXT_BYTES * 4) / 3)) return undefined
  const bytes = Buffer.from(encoded, 'base64url')
  try {
    checkJsonBytes(bytes)
  } catch {
    return undefined // too deep, too many values, or names that a body must not have
  }
  const context = parseJson(bytes.toString('utf8'))
  return isRecord(context) && Object.values(context).every(isRecord) ? context : undefined
}
