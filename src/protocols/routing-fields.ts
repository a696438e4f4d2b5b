/** Fields of a request that say which models may answer it, in OpenRouter's form. The gateway reads them; no provider gets them. */
import type { RequestedRouting } from '../domain/chat.ts'
import type { Json } from '../lib/json.ts'
import { arrayAt, isAbsent, oneOf, refuse, stringAt } from './openai-chat/client/checks.ts'

/** Models of one request. */
export const MAX_REQUESTED_MODELS = 10

/** Names of the fields, for APIs that list what they know. */
export const ROUTING_FIELDS = ['models', 'route'] as const

/** The fields of a body that is translated for the chat-completions parser. */
export function routingFields(body: Json): Json {
  const found: Record<string, unknown> = {}
  for (const name of ROUTING_FIELDS) if (!isAbsent(body[name])) found[name] = body[name]
  return found
}

/** A body without them, for hosts that get it as it is. */
export function withoutRouting(body: Json): Json {
  if (ROUTING_FIELDS.every((name) => !(name in body))) return body
  const rest: Record<string, unknown> = { ...body }
  for (const name of ROUTING_FIELDS) delete rest[name]
  return rest
}

/** An empty list means none. @throws GatewayError */
export function readModels(value: unknown, name: string): readonly string[] {
  const ids = arrayAt(value, name)
  if (ids.length > MAX_REQUESTED_MODELS) {
    refuse('out_of_range', name, `\`${name}\` must have at most ${MAX_REQUESTED_MODELS} models, not ${ids.length}.`)
  }
  return ids.map((id, at) => {
    const path = `${name}[${at}]`
    const text = stringAt(id, path)
    return text === '' ? refuse('invalid_value', path, `\`${path}\` must not be empty.`) : text
  })
}

/** The first model of a request that names a list only. */
export function firstOf(models: unknown): unknown {
  if (!Array.isArray(models)) return undefined
  const [first] = models
  return first ?? refuse('invalid_value', 'models', '`models` must not be empty where there is no `model`.')
}

/** The only value that there is. */
export function checkRoute(value: unknown, name: string): void {
  oneOf(value, name, ['fallback'])
}

/** With `models`; undefined where there are none. */
export function withModels(
  routing: RequestedRouting | undefined,
  models: readonly string[],
): RequestedRouting | undefined {
  return models.length === 0 ? routing : { ...routing, models }
}
