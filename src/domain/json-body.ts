/** What a body must be before anyone looks at its fields: JSON, an object, of sane depth, with no poisoned names. */
import { GatewayError } from './errors.ts'

/** The body itself is at depth 1. */
export const MAX_BODY_DEPTH = 64
export const MAX_ARRAY_ITEMS = 10_000

const SHOWN_CHARACTERS = 200

/** The object in a request's body. Throws `invalid_json`, or `invalid_type` for JSON that is no object. */
export function parseJsonBody(text: string): unknown {
  const body = parseJson(text)
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body
  const found = Array.isArray(body) ? 'an array' : body === null ? 'null' : `a ${typeof body}`
  throw new GatewayError('invalid_type', `The request body must be a JSON object, not ${found}.`)
}

/**
 * Refuses what later code could stumble over: nesting deeper than `MAX_BODY_DEPTH`, arrays longer than
 * `MAX_ARRAY_ITEMS`, and names that poison prototypes where objects are merged: an own `__proto__`, a `constructor`
 * with a `prototype`. The walk never goes deeper than the limit, so no body can exhaust the stack.
 */
export function guardBody(value: unknown): void {
  if (typeof value === 'object' && value !== null) visit(value as Readonly<Record<string, unknown>>, 1)
}

function visit(container: Readonly<Record<string, unknown>>, depth: number): void {
  if (depth > MAX_BODY_DEPTH) refuseBody(`The request body is nested deeper than ${MAX_BODY_DEPTH} levels.`)
  if (Array.isArray(container)) visitItems(container, depth)
  else visitFields(container, depth)
}

function visitFields(container: Readonly<Record<string, unknown>>, depth: number): void {
  for (const name in container) {
    if (name === '__proto__') refuseBody('The request body has a field named `__proto__`, which is not allowed.')
    const value = container[name]
    if (typeof value !== 'object' || value === null) continue
    if (name === 'constructor' && Object.hasOwn(value, 'prototype')) {
      refuseBody('The request body has a field named `constructor.prototype`, which is not allowed.')
    }
    visit(value as Readonly<Record<string, unknown>>, depth + 1)
  }
}

function visitItems(items: readonly unknown[], depth: number): void {
  if (items.length > MAX_ARRAY_ITEMS) {
    refuseBody(`The request body has an array of ${items.length} items; at most ${MAX_ARRAY_ITEMS} are allowed.`)
  }
  for (const item of items) {
    if (typeof item === 'object' && item !== null) visit(item as Readonly<Record<string, unknown>>, depth + 1)
  }
}

function refuseBody(message: string): never {
  throw new GatewayError('invalid_value', message)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new GatewayError('invalid_json', jsonFault(text, reason), { cause: error })
  }
}

/** @param reason As the engine says it: with the position, or with the text around the fault. */
function jsonFault(text: string, reason: string): string {
  if (text.trim() === '') return 'The request body is empty; send a JSON object.'
  if (/end of JSON input/.test(reason))
    return `The request body is not valid JSON: it ends early, at position ${text.length}.`
  return `The request body is not valid JSON: ${reason.slice(0, SHOWN_CHARACTERS)}`
}
