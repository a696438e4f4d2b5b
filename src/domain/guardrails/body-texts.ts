/** The texts of a request or an answer as JSON: what people, tools and models wrote, without names, IDs and data. */
import { parseJson } from '../../lib/json.ts'

/** Replaces one text; the same text leaves the JSON as it is. @param path As in errors: `messages[2].content`. */
export type ReplaceText = (text: string, path: () => string) => string

/** The fields whose texts are names, IDs, addresses, encoded data or choices of the API. */
const NOT_TEXT: ReadonlySet<string> = new Set([
  ...[
    'model',
    'models',
    'type',
    'role',
    'id',
    'name',
    'object',
    'status',
    'detail',
    'format',
    'media_type',
    'mime_type',
  ],
  ...['tool_call_id', 'tool_use_id', 'call_id', 'file_id', 'response_id', 'previous_response_id', 'item_id'],
  ...[
    'url',
    'image_url',
    'file_url',
    'data',
    'file_data',
    'signature',
    'encrypted_content',
    'provider_context',
    'audio',
  ],
  ...[
    'tool_choice',
    'provider',
    'route',
    'routing',
    'service_tier',
    'cache_control',
    'prompt_cache_key',
    'stop_reason',
  ],
  ...['include', 'modalities', 'required', 'enum', 'reasoning_effort', 'encoding_format', 'safety_identifier', 'user'],
])
/** The fields that contain JSON as text. */
const JSON_TEXT: ReadonlySet<string> = new Set(['arguments', 'partial_json'])
/** The fields below which every text counts: input and results of tools, which choose their own field names. */
const FREE_FORM: ReadonlySet<string> = new Set(['input', 'arguments', 'output', 'documents', 'metadata'])

type Step = string | number

/**
 * The parser of the value limits its depth.
 * @param options.isFree Every text counts, whatever its field is called.
 * @returns `value` itself if nothing was replaced.
 */
export function replaceTexts(value: unknown, replace: ReplaceText, { isFree = false } = {}): unknown {
  return walk(value, { replace, path: [], isFree })
}

interface Walk {
  readonly replace: ReplaceText
  readonly path: Step[]
  readonly isFree: boolean
}

function walk(value: unknown, at: Walk): unknown {
  if (typeof value === 'string') return value === '' ? value : at.replace(value, () => pathText(at.path))
  if (Array.isArray(value)) return walkList(value, at)
  if (typeof value !== 'object' || value === null) return value
  return walkObject(value as Readonly<Record<string, unknown>>, at)
}

function walkList(list: readonly unknown[], at: Walk): unknown {
  let copy: unknown[] | undefined
  for (const [position, item] of list.entries()) {
    at.path.push(position)
    const replaced = walk(item, at)
    at.path.pop()
    if (replaced === item) continue
    copy ??= [...list]
    copy[position] = replaced
  }
  return copy ?? list
}

function walkObject(object: Readonly<Record<string, unknown>>, at: Walk): unknown {
  let copy: Record<string, unknown> | undefined
  for (const [field, item] of Object.entries(object)) {
    if (!at.isFree && NOT_TEXT.has(field)) continue
    at.path.push(field)
    const replaced = isToolInput(object, field) ? walkFree(item, field, at) : walk(item, at)
    at.path.pop()
    if (replaced === item) continue
    copy ??= { ...object }
    copy[field] = replaced
  }
  return copy ?? object
}

/** Returns whether a field is a tool's input. The `input` of a request has no type beside it. */
function isToolInput(object: Readonly<Record<string, unknown>>, field: string): boolean {
  return FREE_FORM.has(field) && (field !== 'input' || typeof object['type'] === 'string')
}

function walkFree(item: unknown, field: string, at: Walk): unknown {
  const free = { ...at, isFree: true }
  if (typeof item !== 'string' || !JSON_TEXT.has(field)) return walk(item, free)
  return replaceInJson(item, (parsed) => walk(parsed, free)) ?? walk(item, free)
}

/** Replaces texts within JSON that is itself a text. @returns undefined if it is not a JSON object or list. */
export function replaceInJson(text: string, replace: (parsed: unknown) => unknown): string | undefined {
  const parsed = parseJson(text)
  if (typeof parsed !== 'object' || parsed === null) return undefined
  const replaced = replace(parsed)
  return replaced === parsed ? text : JSON.stringify(replaced)
}

function pathText(path: readonly Step[]): string {
  let text = ''
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : text === '' ? step : `.${step}`
  return text
}
