/**
 * Turns a request that was really sent to a host of the OpenAI dialect into what an OpenAI client would have sent to
 * get it: the host's own words become the format's. It shares nothing with the codecs, and knows the words that the
 * recordings have.
 */

// biome-ignore lint/suspicious/noExplicitAny: a recording is any JSON
type Anything = any

/** @returns The body of a chat completion. */
export function clientRequestOf(native: Anything): Anything {
  const { tool_choice: choice, random_seed: seed, reasoning, messages, tools, ...rest } = native
  return {
    ...rest,
    ...(choice === undefined ? {} : { tool_choice: choice === 'any' ? 'required' : choice }),
    ...(seed === undefined ? {} : { seed }),
    ...effortOf(reasoning),
    ...(tools === undefined ? {} : { tools: tools.map((tool: Anything) => ({ type: 'function', ...tool })) }),
    messages: messages.map(messageOf),
  }
}

/** An effort of the router's; whatever else is in there, only its own clients know. */
function effortOf(reasoning: Anything): Anything {
  if (reasoning === undefined) return {}
  const isEffort = Object.keys(reasoning).join() === 'effort'
  return isEffort ? { reasoning_effort: reasoning.effort } : { reasoning }
}

function messageOf(message: Anything): Anything {
  const { reasoning_details: details, content, ...rest } = message
  const parts = Array.isArray(content) ? content : undefined
  const thinking = parts?.filter((part) => part.type === 'thinking') ?? []
  const kept = parts?.filter((part) => part.type !== 'thinking').map(partOf)
  return {
    ...rest,
    ...(content === undefined ? {} : { content: kept ?? content }),
    ...(thinking.length === 0 ? {} : { reasoning_content: thinking.map(thoughtOf).join('') }),
    ...(details === undefined ? {} : { provider_context: { 'openai-chat': { reasoning_details: details } } }),
  }
}

function thoughtOf({ thinking }: Anything): string {
  return thinking.map((piece: Anything) => piece.text).join('')
}

function partOf(part: Anything): Anything {
  const hasBareAddress = part.type === 'image_url' && typeof part.image_url === 'string'
  return hasBareAddress ? { ...part, image_url: { url: part.image_url } } : part
}

export interface Difference {
  /** `messages[0].role`. */
  readonly path: string
  readonly recorded: unknown
  readonly rendered: unknown
}

/** Everything in which two JSON values differ, as deep as it lies. */
export function differences(recorded: unknown, rendered: unknown, path = ''): Difference[] {
  if (isList(recorded) && isList(rendered)) {
    const length = Math.max(recorded.length, rendered.length)
    return Array.from({ length }, (_, at) => differences(recorded[at], rendered[at], `${path}[${at}]`)).flat()
  }
  if (isObject(recorded) && isObject(rendered)) {
    const names = new Set([...Object.keys(recorded), ...Object.keys(rendered)])
    return [...names].flatMap((name) =>
      differences(recorded[name], rendered[name], path === '' ? name : `${path}.${name}`),
    )
  }
  return Object.is(recorded, rendered) ? [] : [{ path, recorded, rendered }]
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
