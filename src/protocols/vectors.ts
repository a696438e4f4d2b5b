/**
 * Vectors of embeddings: as an event of the pipeline, and in the two forms of the wire, numbers and the base64 of 32-bit
 * floats (little-endian). Conversions are exact: every 32-bit float is a JSON number, and hosts print their own floats.
 */
import type { ChatEvent, Usage, Vector } from '../domain/chat.ts'
import { brokenAnswer } from './protocol.ts'

const FIELD = 'embeddings'
const FLOAT_BYTES = 4

/**
 * The events of a whole answer.
 * @param values In the order of the inputs. @param promptTokens Undefined: not reported.
 * @throws ProviderError for what is no vector.
 */
export function vectorEvents(values: readonly unknown[], promptTokens: number | undefined): ChatEvent[] {
  const events: ChatEvent[] = [{ type: 'extension', index: 0, field: FIELD, value: values.map(readVector) }]
  if (promptTokens !== undefined) events.push({ type: 'usage', usage: inputUsage(promptTokens) })
  events.push({ type: 'finish', index: 0, reason: 'stop', raw: 'stop' })
  return events
}

/** Returns the usage of an answer without generated text. */
function inputUsage(promptTokens: number): Usage {
  return { promptTokens, completionTokens: 0 }
}

/** The vectors of an event of `vectorEvents`; undefined for other events. */
export function vectorsOf(event: ChatEvent): readonly Vector[] | undefined {
  return event.type === 'extension' && event.field === FIELD ? (event.value as readonly Vector[]) : undefined
}

function readVector(value: unknown): Vector {
  if (typeof value === 'string' && isBase64OfFloats(value)) return value
  if (Array.isArray(value) && value.length > 0 && value.every(isFiniteNumber)) return value
  throw brokenAnswer('The provider answered with an embedding that is no vector of numbers.')
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isBase64OfFloats(text: string): boolean {
  const bytes = Buffer.byteLength(text, 'base64')
  return bytes > 0 && bytes % FLOAT_BYTES === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
}

/** @returns The base64 of its 32-bit floats. */
export function vectorBase64(vector: Vector): string {
  if (typeof vector === 'string') return vector
  const bytes = Buffer.allocUnsafe(vector.length * FLOAT_BYTES)
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * FLOAT_BYTES)
  return bytes.toString('base64')
}

/**
 * JSON text of its numbers; unlike `JSON.stringify`, keeps the sign of zero.
 * @throws ProviderError for floats that are no JSON numbers.
 */
export function vectorJson(vector: Vector): string {
  const numbers = typeof vector === 'string' ? floatsOf(vector) : vector
  if (!numbers.some((value) => Object.is(value, -0))) return JSON.stringify(numbers)
  return `[${numbers.map((value) => (Object.is(value, -0) ? '-0' : JSON.stringify(value))).join(',')}]`
}

function floatsOf(base64: string): readonly number[] {
  const bytes = Buffer.from(base64, 'base64')
  const floats: number[] = []
  for (let at = 0; at < bytes.length; at += FLOAT_BYTES) floats.push(bytes.readFloatLE(at))
  if (!floats.every(isFiniteNumber)) throw brokenAnswer('The provider answered with an embedding of no finite numbers.')
  return floats
}
